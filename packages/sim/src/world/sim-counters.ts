/**
 * The simulated global counters: a table that can be away, slow, answer from a stuck replica, deadlock and be lost.
 *
 * One row a cell with a count a region, stamped with a version that every change raises: the cursor of an import. A
 * replica is a copy of the table, made when it gets stuck; reads go to it until it is let go.
 */
import type { CounterRow, Counters, DenialPage, DenialRow, DeniedCell, ImportedCell, ImportPage } from "sluice";
import type { History } from "../model/history.ts";
import { encodeKey, NameBook } from "../model/internals.ts";
import type { SeededRandom } from "../model/seeded-random.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Caller, Link, Network, Server } from "./network.ts";
import type { StoreLoad } from "./sim-origin.ts";

interface Row {
  readonly key: CounterRow["key"];
  readonly sequence: number;
  readonly counts: Map<string, number>;
  expiresAtMs: number;
  version: number;
}

/** One region's row of the denial channel. */
interface Denial extends DenialRow {
  readonly region: string;
  readonly version: number;
}

interface Table {
  readonly rows: Map<string, Row>;
  readonly denials: Map<string, Denial>;
  /** Which region names belong to one origin. */
  readonly book: NameBook;
}

/** A region that published within this time is live. */
const LIVE_MS = 60_000;

export class SimCounters implements Server {
  stalledUntilMs = 0;
  slowMs = 0;
  /** Written by faults.ts. */
  isAway = false;
  deadlocks = 0;
  onDeadlock: () => void = () => {};
  /** What processes sent: calls, each a statement, and the rows written with them. */
  readonly sent: StoreLoad = { calls: 0, commands: 0 };
  readonly #queue: EventQueue;
  readonly #history: History;
  readonly #random: SeededRandom;
  #table: Table = { rows: new Map(), denials: new Map(), book: new NameBook() };
  #replica: Table | undefined;
  #version = 0;
  readonly #publishedAtMs = new Map<string, number>();

  constructor(queue: EventQueue, history: History, random: SeededRandom) {
    this.#queue = queue;
    this.#history = history;
    this.#random = random;
  }

  connect(caller: Caller, link: Link, network: Network): Counters {
    const call = <T>(execute: () => T, rows = 0): Promise<T> => {
      this.sent.calls++;
      this.sent.commands += rows;
      return network.call(caller, link, this, () => {
        if (this.isAway) throw new Error("the global counters are away");
        return execute();
      });
    };
    // A process knows its own registration, even if a replica has not got it yet.
    let origin: string | null = null;
    const register = async (region: string, of: string) => {
      const registration = await call(() => this.#table.book.register(region, of, this.#queue.nowMs));
      origin = of;
      return registration;
    };
    return {
      publish: (region, rows) => call(() => this.#publish(region, rows), rows.length),
      read: (region, cursor) => call(() => this.#read(region, cursor, origin)),
      register,
      cleanUp: (nowMs, rowsMax) => call(() => this.#cleanUp(nowMs, rowsMax)),
      denials: {
        write: (region, rows) => call(() => this.#writeDenials(region, rows), rows.length),
        read: (region, cursor) => call(() => this.#readDenials(region, cursor, origin)),
        active: (nowMs) => call(() => [...this.#seen().denials.values()].filter((row) => row.expiresAtMs > nowMs)),
      },
      close: async () => {},
    };
  }

  loseTable(): void {
    for (const row of this.#table.rows.values()) this.#emitLost(row);
    // The registrations stay: what happens to two names of one origin after a store has lost them too is documented, not judged.
    this.#table = { rows: new Map(), denials: new Map(), book: this.#table.book };
  }

  stickReplica(): void {
    const rows = [...this.#table.rows].map(([name, row]) => [name, { ...row, counts: new Map(row.counts) }] as const);
    this.#replica = { rows: new Map(rows), denials: new Map(this.#table.denials), book: this.#table.book.copy() };
  }

  letReplicaGo(): void {
    this.#replica = undefined;
  }

  #seen(): Table {
    return this.#replica ?? this.#table;
  }

  #publish(region: string, rows: readonly CounterRow[]): void {
    // A deadlock rolls back the chunk it strikes; chunks before it are committed.
    const isDeadlock = rows.length > 0 && this.deadlocks > 0;
    const committed = isDeadlock ? rows.slice(0, this.#random.between(0, rows.length - 1)) : rows;
    this.#publishedAtMs.set(region, this.#queue.nowMs);
    for (const row of committed) this.#raise(region, row);
    if (!isDeadlock) return;
    this.deadlocks--;
    this.onDeadlock();
    throw new Error("deadlock found when trying to get lock");
  }

  #raise(region: string, { key, sequence, count, expiresAtMs }: CounterRow): void {
    const encoded = encodeKey(key);
    const name = `${sequence}/${encoded}`;
    let row = this.#table.rows.get(name);
    if (row === undefined) {
      row = { key, sequence, counts: new Map(), expiresAtMs, version: 0 };
      this.#table.rows.set(name, row);
    }
    if (count <= (row.counts.get(region) ?? 0)) return;
    row.counts.set(region, count);
    row.version = ++this.#version;
    const event = { kind: "row", region, key: encoded, sequence, count, expiresAtMs: row.expiresAtMs } as const;
    this.#history.record(this.#queue.nowMs, "global", event);
  }

  /** The names that a reader goes by: those of where it reads, and its own. */
  #bookOf(region: string, origin: string | null): NameBook {
    const { book } = this.#seen();
    if (this.#replica === undefined || origin === null) return book;
    const known = book.copy();
    known.register(region, origin, this.#queue.nowMs);
    return known;
  }

  #read(region: string, cursor: string | null, origin: string | null): ImportPage {
    const since = cursor === null ? 0 : Number(cursor);
    const nowMs = this.#queue.nowMs;
    const cells: ImportedCell[] = [];
    let newest = since;
    const { rows } = this.#seen();
    const book = this.#bookOf(region, origin);
    for (const { key, sequence, counts, expiresAtMs, version } of rows.values()) {
      if (version <= since || expiresAtMs <= nowMs) continue;
      newest = Math.max(newest, version);
      const window = { sequence, durationMs: key.durationMs };
      cells.push({ key, sequence, ...book.names.seenFrom(region, window, counts) });
    }
    const live = [...this.#publishedAtMs].filter(([name, atMs]) => name === region || atMs > nowMs - LIVE_MS);
    const isAskerNew = !this.#publishedAtMs.has(region);
    return { cells, cursor: String(newest), regionsLive: live.length + (isAskerNew ? 1 : 0) };
  }

  #cleanUp(nowMs: number, rowsMax: number): number {
    const hasRows = (region: string) => [...this.#table.rows.values()].some(({ counts }) => counts.has(region));
    this.#table.book.forget(this.#queue.nowMs, hasRows);
    const expiredMs = Math.min(nowMs, this.#queue.nowMs);
    let deleted = 0;
    for (const part of [this.#table.rows, this.#table.denials]) {
      for (const [name, row] of part) {
        if (deleted === rowsMax) break;
        if (row.expiresAtMs > expiredMs) continue;
        part.delete(name);
        deleted++;
        // Only a row that has not expired is told: there must be none.
        if ("counts" in row) this.#emitLost(row);
      }
    }
    return deleted;
  }

  #emitLost({ key, sequence, expiresAtMs }: Row): void {
    if (expiresAtMs <= this.#queue.nowMs) return;
    this.#history.record(this.#queue.nowMs, "global", { kind: "rows-lost", key: encodeKey(key), sequence });
  }

  #writeDenials(region: string, rows: readonly DenialRow[]): void {
    for (const { key, sequence, limit, expiresAtMs } of rows) {
      const encoded = encodeKey(key);
      const name = `${sequence}/${region}/${encoded}`;
      if (limit <= (this.#table.denials.get(name)?.limit ?? Number.NEGATIVE_INFINITY)) continue;
      this.#table.denials.set(name, { key, sequence, limit, expiresAtMs, region, version: ++this.#version });
      this.#history.record(this.#queue.nowMs, "global", { kind: "told", region, key: encoded, sequence, limit });
    }
  }

  #readDenials(region: string, cursor: string | null, origin: string | null): DenialPage {
    const since = cursor === null ? 0 : Number(cursor);
    const { denials } = this.#seen();
    const book = this.#bookOf(region, origin);
    const live = [...denials.values()].filter(({ expiresAtMs }) => expiresAtMs > this.#queue.nowMs);
    const changed = live.filter(({ version }) => version > since);
    const cells = changed.map(({ key, sequence, limit, region: owner }): DeniedCell => {
      const window = { sequence, durationMs: key.durationMs };
      return { key, sequence, ...book.names.deniedFrom(region, window, [[owner, limit]]) };
    });
    return { cells, cursor: String(Math.max(since, ...changed.map(({ version }) => version))) };
  }
}
