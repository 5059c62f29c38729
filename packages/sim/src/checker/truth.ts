/**
 * What really happened, as only the checker can know it: per cell, everything ever accepted, by writer and by region, and
 * what each store holds of it now.
 *
 * A region here is an origin with its processes (`r0`): components belong to origins. Rows of the global counters are kept under
 * region names, and several names may belong to one origin; `originOf` says which.
 *
 * What an origin admitted for a call counts as accepted from that moment on, even if its process dies before it answers (calls.ts).
 *
 * Written from the history and nothing else. The other checkers read it before the line they look at is applied.
 */
import type { DecisionEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import { Accepted } from "./accepted.ts";
import { Calls, type CallTruth } from "./calls.ts";

export interface WriterTruth {
  readonly life: string;
  readonly region: string;
  /** Accepted under this id in this cell, and when last. */
  total: number;
  /** Of it, what the origin admitted for a call whose requests have not been answered yet. */
  pending: number;
  lastMs: number;
}

/** A component that its origin lost without a sign. */
interface Missing {
  readonly total: number;
  readonly lostMs: number;
  /** Whether a call of its writer that began after the loss was answered: it knows, and will store it again. */
  isNoticed: boolean;
}

/** One cell, as it really is. */
export class CellTruth {
  total = 0;
  readonly byRegion: Map<string, number> = new Map();
  readonly byWriter: Map<string, WriterTruth> = new Map();
  /** The id under which each life counts now: an older one of the same life can no longer be sent again. */
  readonly current: Map<string, string> = new Map();
  /** When what was accepted: by region, and by life. */
  readonly acceptedIn: Map<string, Accepted> = new Map();
  readonly acceptedBy: Map<string, Accepted> = new Map();
  /** What the origins hold: by region and writer. */
  readonly stored: Map<string, Map<string, number>> = new Map();
  /** What the global counters hold, by region name. */
  readonly rows: Map<string, number> = new Map();
  /** When a row last rose, and when the global counters last lost the rows. */
  rowsMs = 0;
  rowsLostMs: number = Number.NEGATIVE_INFINITY;
  /** What the row of each name rose to, and when, since the rows were last lost. */
  readonly #risen: Map<string, { readonly atMs: number; readonly count: number }[]> = new Map();
  /** Components that the origin lost with a single key, which no heartbeat shows, until they are stored again: by writer. */
  readonly missing: Map<string, Missing> = new Map();
  /** The largest limit asked of it. */
  limitMax = 0;
  /** When each life first asked for less than before in this cell, since the first cost that it counted there. */
  readonly lows: Map<string, { readonly atMs: number; readonly limit: number }[]> = new Map();

  region(region: string): number {
    return this.byRegion.get(region) ?? 0;
  }

  /** The row of a name as it stood at a moment. */
  rowAt(name: string, atMs: number): number {
    return this.#risen.get(name)?.findLast((row) => row.atMs <= atMs)?.count ?? 0;
  }

  rowRose(name: string, count: number, atMs: number): void {
    this.rows.set(name, count);
    this.rowsMs = atMs;
    const risen = this.#risen.get(name) ?? [];
    this.#risen.set(name, risen);
    risen.push({ atMs, count });
  }

  /**
   * A life allowed or denied a cost under a limit: kept if it is the lowest since the first cost that the life counted in this cell. That
   * cost starts the lowest limit again, as it does in the table: a limit that only requests before it had no longer sets the floor.
   */
  asked(life: string, limit: number, atMs: number, isFirstCost: boolean): void {
    const lows = isFirstCost ? [] : (this.lows.get(life) ?? []);
    this.lows.set(life, lows);
    if (limit < (lows.at(-1)?.limit ?? Number.POSITIVE_INFINITY)) lows.push({ atMs, limit });
  }

  /** The lowest limit that a life had asked with at a moment. */
  lowAt(life: string, atMs: number): number {
    return this.lows.get(life)?.findLast((low) => low.atMs <= atMs)?.limit ?? Number.POSITIVE_INFINITY;
  }

  rowsLost(atMs: number): void {
    this.rows.clear();
    this.#risen.clear();
    this.rowsLostMs = atMs;
  }

  /** What a life has accepted under the id it counts with now, as far as it can know. */
  ownOf(life: string): number {
    const writer = this.byWriter.get(this.current.get(life) ?? "");
    return writer === undefined ? 0 : writer.total - writer.pending;
  }

  /** What the origin has admitted for a call of a life that is under way. */
  pendingOf(life: string): number {
    return this.byWriter.get(this.current.get(life) ?? "")?.pending ?? 0;
  }

  storedSum(region: string): number {
    let sum = 0;
    for (const total of this.stored.get(region)?.values() ?? []) sum += total;
    return sum;
  }
}

/** A wall clock: what it showed at a moment of world time, and its speed since. */
export interface ClockTruth {
  readonly atMs: number;
  readonly wallMs: number;
  readonly rate: number;
}

export interface LifeTruth {
  /** Its origin, and the name under which it publishes. */
  readonly region: string;
  readonly name: string;
  clock: ClockTruth;
  readonly begunAtMs: number;
  state: "running" | "killed" | "stopped";
  endedAtMs: number;
  evicted: number;
  followed: number;
  /** When it last forgot something it knew, world time. */
  forgotAtMs: number;
}

const NOTHING = new CellTruth();

/** World milliseconds that pass, at the most, while a drifting clock shows one. */
const CLOCK_FASTEST = 1.02;

export class Truth {
  readonly lives: Map<string, LifeTruth> = new Map();
  readonly durations: Map<string, number> = new Map();
  readonly #calls = new Calls();
  /** The origin that each region name belongs to. */
  readonly #origins = new Map<string, string>();
  readonly #cells = new Map<string, Map<number, CellTruth>>();
  /** The origin that is losing single keys at this moment. */
  #losingKeys = "";
  /** Items of the batch that is being told which fit but were not counted: by cell, what they ask for. */
  #batch = "";
  readonly #fitting = new Map<string, number>();

  /** What must fit: the event's cost, and the costs of earlier items of its batch and cell that the truth has not got. */
  together(process: string, { batch, key, cost }: DecisionEvent): number {
    if (batch === 0 || this.#batch !== `${process} ${batch}`) return cost;
    return cost + (this.#fitting.get(key) ?? 0);
  }

  /** A call of a life to its origin. */
  call(life: string, call: number): CallTruth | undefined {
    return this.#calls.find(life, call);
  }

  /** What is in the truth already of the call that carried this request: it is decided as if none of it was. */
  pendingOf(process: string, { key, sequence, call }: DecisionEvent): number {
    return call === 0 ? 0 : this.cell(key, sequence).pendingOf(process);
  }

  /** The cell, or an empty one that must not be written to. */
  cell(key: string, sequence: number): CellTruth {
    return this.#cells.get(key)?.get(sequence) ?? NOTHING;
  }

  life(name: string): LifeTruth {
    const life = this.lives.get(name);
    if (life === undefined) throw new Error(`an event of ${name}, which never began`);
    return life;
  }

  /** The region, that is the origin, whose processes publish under a name. */
  originOf(name: string): string {
    return this.#origins.get(name) ?? name;
  }

  /** What the rows of a region come to at a moment: the largest of its names, as each holds what the origin knew. */
  rowAt(cell: CellTruth, region: string, atMs: number): number {
    let largest = 0;
    for (const name of cell.rows.keys()) {
      if (this.originOf(name) === region) largest = Math.max(largest, cell.rowAt(name, atMs));
    }
    return largest;
  }

  /**
   * Whether what a life counted in a cell under this id will be in its origin again if it is missing there: it is still in
   * its memory, and something shows it the loss: the heartbeat, or the next call about the key (`missing`).
   */
  isHealing(cell: CellTruth, writer: string): boolean {
    const one = cell.byWriter.get(writer);
    if (one === undefined || cell.current.get(one.life) !== writer) return false;
    const life = this.life(one.life);
    return life.state === "running" && one.lastMs > life.forgotAtMs;
  }

  /** What a life counted in cells that matter after `afterMs`, and its origin has not got; with `isKnown` only what it remembers. */
  unstored(name: string, afterMs: number, isKnown = false): number {
    const { region } = this.life(name);
    let missing = 0;
    for (const { sequence, durationMs, cell } of this.cells()) {
      if ((sequence + 2) * durationMs <= afterMs) continue;
      for (const [writer, { life, total }] of cell.byWriter) {
        // Single keys that an origin lost are missed with the next call about the key, not before.
        if (life !== name || cell.missing.get(writer)?.isNoticed === false) continue;
        if (isKnown && !this.isHealing(cell, writer)) continue;
        missing += total - (cell.stored.get(region)?.get(writer) ?? 0);
      }
    }
    return missing;
  }

  *cells(): Generator<{ key: string; sequence: number; durationMs: number; cell: CellTruth }> {
    for (const [key, cells] of this.#cells) {
      const durationMs = this.durations.get(key);
      if (durationMs === undefined) continue;
      for (const [sequence, cell] of cells) yield { key, sequence, durationMs, cell };
    }
  }

  /** Takes a line in. */
  apply({ atMs, process, event }: HistoryLine): void {
    if (event.kind === "decision") {
      this.#decided(atMs, process, event);
    } else if (event.kind === "admitted") {
      const { life, key, sequence, writer, cost } = event;
      const rise = this.#calls.admitted(life, event.call, cost, atMs, event.isRepeated);
      if (rise > 0) this.#accept(atMs, life, this.#writable(key, sequence), writer, rise, rise);
    } else if (event.kind === "stored") {
      const { stored, missing } = this.#writable(event.key, event.sequence);
      const writers = stored.get(event.region) ?? new Map<string, number>();
      stored.set(event.region, writers.set(event.writer, event.total));
      if (event.total >= (missing.get(event.writer)?.total ?? Number.POSITIVE_INFINITY)) missing.delete(event.writer);
    } else if (event.kind === "row") {
      this.#writable(event.key, event.sequence).rowRose(event.region, event.count, atMs);
    } else if (event.kind === "wiped") {
      this.#wiped(atMs, event.region);
    } else if (event.kind === "rows-lost") {
      this.#writable(event.key, event.sequence).rowsLost(atMs);
    } else if (event.kind === "fault") {
      if (event.fault === "origin-lost-keys") this.#losingKeys = event.isOn ? event.target : "";
    } else if (event.kind === "read" || event.kind === "raise" || event.kind === "admit") {
      if (event.call !== undefined) this.#calls.ended(process, event);
      const missing = this.cell(event.key, event.sequence).missing.get(event.writer);
      const isSince = missing !== undefined && atMs - (event.monoMs - event.beganMs) * CLOCK_FASTEST > missing.lostMs;
      if (event.isAnswered && isSince) missing.isNoticed = true;
    } else {
      this.#lived(atMs, process, event);
    }
  }

  #wiped(atMs: number, region: string): void {
    for (const cells of this.#cells.values()) {
      for (const { stored, missing } of cells.values()) {
        const lost = stored.get(region);
        stored.delete(region);
        if (region !== this.#losingKeys) continue;
        for (const [writer, total] of lost ?? []) missing.set(writer, { total, lostMs: atMs, isNoticed: false });
      }
    }
  }

  #decided(atMs: number, life: string, event: DecisionEvent): void {
    const { key, sequence, cost, writer, limit } = event;
    this.durations.set(key, event.durationMs);
    const cell = this.#writable(key, sequence);
    cell.limitMax = Math.max(cell.limitMax, limit);
    const isFirstCost = event.isCounted && cost > 0 && (writer !== cell.current.get(life) || cell.ownOf(life) === 0);
    if (event.isCounted || event.reason === "limit") cell.asked(life, limit, atMs, isFirstCost);
    if (event.batch !== 0) this.#toldItem(`${life} ${event.batch}`, event);
    if (!event.isCounted || cost === 0) return;
    const rise = event.call === 0 ? cost : this.#calls.told(life, event.call, cost);
    this.#accept(atMs, life, cell, writer, rise);
    cell.byWriter.get(writer)!.pending -= cost - rise;
  }

  /** `cost` is accepted at this moment; it is pending if the origin says so, until the process does. */
  #accept(atMs: number, life: string, cell: CellTruth, writer: string, cost: number, pending = 0): void {
    const { region } = this.life(life);
    cell.total += cost;
    cell.byRegion.set(region, cell.region(region) + cost);
    let owner = cell.byWriter.get(writer);
    if (owner === undefined) {
      owner = { life, region, total: 0, pending: 0, lastMs: atMs };
      cell.byWriter.set(writer, owner);
    }
    owner.total += cost;
    owner.pending += pending;
    owner.lastMs = atMs;
    cell.current.set(life, writer);
    if (cost === 0) return;
    entryOf(cell.acceptedIn, region).add(atMs, cost);
    entryOf(cell.acceptedBy, life).add(atMs, cost);
  }

  #toldItem(batch: string, { key, success, isCounted, cost, reason }: DecisionEvent): void {
    if (batch !== this.#batch) this.#fitting.clear();
    this.#batch = batch;
    const isFitting = success || reason === "full";
    if (isFitting && !isCounted) this.#fitting.set(key, (this.#fitting.get(key) ?? 0) + cost);
  }

  #lived(atMs: number, name: string, event: HistoryLine["event"]): void {
    if (event.kind === "begun") {
      const state = "running" as const;
      const { region } = event;
      this.#origins.set(event.name, region);
      this.lives.set(name, {
        region,
        name: event.name,
        clock: { atMs, wallMs: atMs, rate: 1 },
        begunAtMs: atMs,
        state,
        endedAtMs: Infinity,
        evicted: 0,
        followed: 0,
        forgotAtMs: -Infinity,
      });
      return;
    }
    if (event.kind === "clock") {
      this.life(name).clock = { atMs, wallMs: event.wallMs, rate: event.rate };
      return;
    }
    if (event.kind !== "alarm" && event.kind !== "killed" && event.kind !== "stopped") return;
    const life = this.life(name);
    if (event.kind === "alarm") {
      life.evicted = event.evicted;
      life.followed = event.followed;
      life.forgotAtMs = atMs;
    } else {
      life.state = event.kind;
      life.endedAtMs = atMs;
    }
  }

  #writable(key: string, sequence: number): CellTruth {
    let cells = this.#cells.get(key);
    if (cells === undefined) {
      cells = new Map();
      this.#cells.set(key, cells);
    }
    let cell = cells.get(sequence);
    if (cell === undefined) {
      cell = new CellTruth();
      cells.set(sequence, cell);
    }
    return cell;
  }
}

function entryOf(entries: Map<string, Accepted>, name: string): Accepted {
  let found = entries.get(name);
  if (found === undefined) {
    found = new Accepted();
    entries.set(name, found);
  }
  return found;
}
