/**
 * Replay: sends what this process has accepted to the origin, as absolute totals, in the background.
 *
 * The backlog is a set of slots, never a queue of requests: nothing is dropped, and ten thousand requests to one cell cost
 * one entry. A total is sent again until it is confirmed; sending it twice changes nothing. Cells nearest their limit go
 * first, and those that hurry (regional-layer.ts says which) need not wait for the next flush: they go ahead of it, within
 * its budget. Each flush also keeps the previous cell of a busy key fresh, so that no request must wait for it, and carries the
 * heartbeat.
 */

import type { Sequence, Slot } from "../core/brands.ts";
import type { Clock } from "../core/clock.ts";
import type { Trace } from "../core/trace.ts";
import type { CellTable } from "../engine/cell-table.ts";
import type { Ledger, Orphan, SlotName } from "../engine/ledger.ts";
import { cellExpiryMs } from "../engine/sequence.ts";
import type { CellMerge } from "./cell-merge.ts";
import { freshnessMs } from "./freshness.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { OriginCount, Raise } from "./origin.ts";
import type { OriginCalls } from "./origin-calls.ts";

/** A raise with the slot that sends it. */
interface Entry {
  readonly slot: Slot;
  readonly name: SlotName;
  readonly raise: Raise;
}

/** A flush that is not answered by then is counted as failed; what it did stays done. */
const FLUSH_DEADLINE_MS = 1_000;
/** How finely slots are ordered by the use of their limit. */
const USE_LEVELS = 8;
/** A part of a flush that cannot carry all is for those that have waited longest, whatever they use of their limit. */
const OLDEST_PART = 1 / 4;

export interface ReplayOptions {
  readonly flushMs: number;
  /** Raises a flush may carry: the command budget. */
  readonly raisesMax: number;
  readonly trace: Trace | null;
}

export class Replay {
  readonly #table: CellTable;
  readonly #ledger: Ledger;
  readonly #calls: OriginCalls;
  readonly #merge: CellMerge;
  readonly #clock: Clock;
  readonly #options: ReplayOptions;
  readonly #heartbeat: Heartbeat;
  isFlushing = false;
  /** Slots so near their limit that what they count must be known to the others at once. */
  readonly hurried: Set<Slot> = new Set();
  /** Raises since the last flush began, those of cells that hurried among them: they share its budget. */
  #sent = 0;
  /** Times the origin was found to have lost what it had confirmed. */
  losses = 0;
  /** Hears of every loss, and how many keys are replayed again for it. */
  onLoss: (cells: number) => void = () => {};
  /** When the last flush began that left nothing behind of what was unreplayed then. Monotonic clock. */
  #cleanMs: number;

  constructor(
    table: CellTable,
    ledger: Ledger,
    calls: OriginCalls,
    merge: CellMerge,
    clock: Clock,
    options: ReplayOptions,
  ) {
    this.#table = table;
    this.#ledger = ledger;
    this.#calls = calls;
    this.#merge = merge;
    this.#clock = clock;
    this.#options = options;
    this.#heartbeat = new Heartbeat(ledger.incarnation);
    this.#cleanMs = clock.monoMs();
  }

  /** How long accepted cost may have waited to be confirmed: since the last flush that sent all there was. */
  get unconfirmedForMs(): number {
    return this.#clock.monoMs() - this.#cleanMs;
  }

  /** One flush: sends up to the budget, merges the answers. False if the origin could not be asked. Never rejects. */
  async flushOnce(raisesMax: number = this.#options.raisesMax): Promise<boolean> {
    if (this.isFlushing) return true;
    if (this.#table.size === 0 && this.#ledger.orphans.length === 0) {
      this.#cleanMs = this.#clock.monoMs();
      return true;
    }
    this.#sent = 0;
    this.#ledger.dropOrphans(this.#clock.wallMs());
    return this.#flush(this.#ledger.unreplayed, this.#ledger.orphans.slice(0, raisesMax), raisesMax);
  }

  /** Sends the hurried slots alone. Nothing while a flush is under way: ask again when it is over. Never rejects. */
  async flushHurriedOnce(): Promise<void> {
    if (this.isFlushing || this.hurried.size === 0 || this.#sent >= this.#options.raisesMax) return;
    await this.#flush(this.hurried, [], this.#options.raisesMax);
  }

  /** Accepted cost that the origin has not confirmed, of cells that still matter. */
  unconfirmed(): number {
    const wallMs = this.#clock.wallMs();
    let sum = 0;
    for (const entry of this.#entries(this.#ledger.unreplayed, wallMs, Number.POSITIVE_INFINITY)) {
      const confirmed = this.#table.replayed(entry.slot, entry.raise.sequence as Sequence);
      sum += Math.max(0, entry.raise.total - confirmed);
    }
    this.#ledger.dropOrphans(wallMs);
    return this.#ledger.orphans.reduce((total, orphan) => total + orphan.unconfirmed, sum);
  }

  async #flush(slots: Iterable<Slot>, orphans: readonly Orphan[], raisesMax: number): Promise<boolean> {
    this.isFlushing = true;
    try {
      return await this.#send(slots, orphans, raisesMax);
    } finally {
      this.isFlushing = false;
    }
  }

  async #send(slots: Iterable<Slot>, orphans: readonly Orphan[], raisesMax: number): Promise<boolean> {
    const beganMs = this.#clock.monoMs();
    const wallMs = this.#clock.wallMs();
    // A hundred thousand cells that wait for an origin that is away need not be listed twenty times a second.
    if (this.#calls.breaker.isOpen(beganMs)) {
      this.hurried.clear();
      return false;
    }
    const beat = this.#heartbeat.next(wallMs);
    const entries = this.#entries(slots, wallMs, raisesMax - this.#sent - orphans.length);
    this.#sent += orphans.length + entries.length;
    this.hurried.clear();
    // The beat goes last: a state of the origin that has it has all that was confirmed with it.
    const raises = [...orphans, ...entries.map(({ raise }) => raise), beat];
    const answers = await this.#calls.raise(raises, FLUSH_DEADLINE_MS);
    if (answers === null) {
      for (const { raise } of entries) this.#tell(raise, beganMs, null);
      return false;
    }
    this.#settleOrphans(orphans, answers);
    entries.forEach((entry, i) => {
      this.#settle(entry, answers[orphans.length + i] ?? null, beganMs);
    });
    const isWhole = slots === this.#ledger.unreplayed && this.#sent < raisesMax;
    if (isWhole && !answers.includes(null)) this.#cleanMs = beganMs;
    const beatAnswer = answers.at(-1) ?? null;
    if (beatAnswer !== null && this.#heartbeat.hasLost(beat, beatAnswer)) this.#replayAll();
    return true;
  }

  #settle({ slot, name, raise }: Entry, answer: OriginCount | null, beganMs: number): void {
    this.#tell(raise, beganMs, answer);
    if (answer === null) return;
    this.#merge.applyRaise(slot, name, raise.sequence as Sequence, raise.total, answer, beganMs);
    if (this.#ledger.name(slot) !== name) return;
    this.#ledger.markReplayed(slot);
    // Counted meanwhile: it waits anew, behind those that were not sent.
    if (this.#hasUnreplayed(slot)) this.#ledger.markUnreplayed(slot);
  }

  #settleOrphans(orphans: readonly Orphan[], answers: readonly (OriginCount | null)[]): void {
    orphans.forEach((orphan, i) => {
      const at = this.#ledger.orphans.indexOf(orphan);
      if (answers[i] !== null && at !== -1) this.#ledger.orphans.splice(at, 1);
    });
  }

  /** The origin has lost something: every live cell with a count of its own is sent again. */
  #replayAll(): void {
    this.losses++;
    let cells = 0;
    const table = this.#table;
    for (let slot = 0 as Slot; slot < table.highWater; slot = (slot + 1) as Slot) {
      if (table.isFree(slot)) continue;
      const sequence = table.sequence(slot);
      table.lowerReplayed(slot, sequence, 0);
      table.lowerReplayed(slot, (sequence - 1) as Sequence, 0);
      if (!this.#hasUnreplayed(slot)) continue;
      this.#ledger.markUnreplayed(slot);
      cells++;
    }
    this.onLoss(cells);
  }

  #hasUnreplayed(slot: Slot): boolean {
    const table = this.#table;
    const sequence = table.sequence(slot);
    const before = (sequence - 1) as Sequence;
    return (
      table.own(slot, sequence) > table.replayed(slot, sequence) ||
      table.own(slot, before) > table.replayed(slot, before)
    );
  }

  /** What to send of these slots, cells nearest their limit first. */
  #entries(slots: Iterable<Slot>, wallMs: number, raisesMax: number): Entry[] {
    // Slots first, entries only of those that the budget reaches: after an outage there are a hundred thousand of the former.
    const levels: Slot[][] = Array.from({ length: USE_LEVELS }, () => []);
    for (const slot of slots) {
      const use = this.#table.viewCurrent(slot) / this.#table.limitLow(slot);
      levels[USE_LEVELS - 1 - Math.min(USE_LEVELS - 1, Math.floor(use * USE_LEVELS))]!.push(slot);
    }
    const ordered = levels.flat();
    const isBehind = ordered.length > raisesMax;
    const entries: Entry[] = [];
    for (const slot of isBehind ? oldestFirst(slots, Math.ceil(raisesMax * OLDEST_PART), ordered) : ordered) {
      if (entries.length >= raisesMax) break;
      const name = this.#ledger.name(slot);
      if (name === undefined) continue;
      const found = this.#entriesOf(slot, name, wallMs, isBehind);
      // Nothing left to send: the cells have expired, or were confirmed meanwhile.
      if (found.length === 0 && !this.#hasUnreplayed(slot)) this.#ledger.markReplayed(slot);
      entries.push(...found);
    }
    return entries.slice(0, raisesMax);
  }

  #entriesOf(slot: Slot, name: SlotName, wallMs: number, isBehind: boolean): Entry[] {
    const table = this.#table;
    const { durationMs } = name.key;
    const sequence = table.sequence(slot);
    const before = (sequence - 1) as Sequence;
    const entries: Entry[] = [];
    for (const at of [sequence, before]) {
      const total = table.own(slot, at);
      const expiresAtMs = cellExpiryMs(at, durationMs);
      if (expiresAtMs <= wallMs) continue;
      const isUnreplayed = total > table.replayed(slot, at);
      const isAging = !isBehind && at === before && this.#isAging(table.freshUntilMs(slot, at), durationMs);
      if (!isUnreplayed && !isAging) continue;
      const raise = { key: name.text, sequence: at, writer: name.writer, total, expiresAtMs };
      entries.push({ slot, name, raise });
    }
    return entries;
  }

  /** A previous cell that will be stale before half its freshness has passed again. */
  #isAging(freshUntilMs: number, durationMs: number): boolean {
    return freshUntilMs - this.#clock.monoMs() < freshnessMs(durationMs) / 2;
  }

  #tell(raise: Raise, beganMs: number, answer: OriginCount | null): void {
    const { trace } = this.#options;
    if (trace === null) return;
    const { key, sequence, writer, total } = raise;
    const { sum, component } = answer ?? { sum: 0, component: 0 };
    const clocks = { wallMs: this.#clock.wallMs(), monoMs: this.#clock.monoMs() };
    trace({
      kind: "raise",
      key,
      sequence,
      ...clocks,
      writer,
      total,
      beganMs,
      isAnswered: answer !== null,
      sum,
      component,
    });
  }
}

/** The first `count` of the slots, which are in the order of their waiting, and then the others in the order given. */
function oldestFirst(slots: Iterable<Slot>, count: number, ordered: readonly Slot[]): ReadonlySet<Slot> {
  const first = new Set<Slot>();
  for (const slot of slots) {
    if (first.size >= count) break;
    first.add(slot);
  }
  for (const slot of ordered) first.add(slot);
  return first;
}
