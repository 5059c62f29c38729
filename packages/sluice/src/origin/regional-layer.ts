/**
 * The regional layer: replay and refresh around one origin, and the rules that say when a decision must wait for it.
 *
 * A request waits only if its cell is cold, stale or strict, and memory would allow it. It never waits while the breaker is
 * open. The loop's body is `flushOnce`; the timer is `start` and `stop`.
 */
import type { DurationMs, Sequence, Slot } from "../core/brands.ts";
import type { Clock, Timers } from "../core/clock.ts";
import { withDeadline } from "../core/deadline.ts";
import { Alarm, Repeat } from "../core/repeat.ts";
import type { Trace } from "../core/trace.ts";
import { pause } from "../core/turns.ts";
import { NONE } from "../engine/cell-table.ts";
import type { Engine } from "../engine/engine.ts";
import type { Gate, Verdict, Waited } from "../engine/gate.ts";
import type { Key } from "../engine/key.ts";
import type { Ledger } from "../engine/ledger.ts";
import { windowStartMs } from "../engine/sequence.ts";
import { Admission } from "./admission.ts";
import { CellMerge } from "./cell-merge.ts";
import { freshnessMs } from "./freshness.ts";
import { HoldClient } from "./hold-client.ts";
import { Looks } from "./looks.ts";
import { NearLimit } from "./near-limit.ts";
import type { Origin } from "./origin.ts";
import { OriginCalls } from "./origin-calls.ts";
import { PendingFrees } from "./pending-frees.ts";
import { RecentFailures } from "./recent-failures.ts";
import { failure, type ReadWish, Refresh } from "./refresh.ts";
import { Renewal } from "./renewal.ts";
import { Replay } from "./replay.ts";

/** What makes, looks at and ends holds at the origin. */
export interface RegionalHolds {
  readonly client: HoldClient;
  readonly looks: Looks;
  readonly pending: PendingFrees;
}

export interface RegionalOptions {
  /** Living holds per key. */
  readonly holdsMax: number;
  readonly flushMs: number;
  readonly readTimeoutMs: number;
  readonly commandsPerSecond: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly trace: Trace | null;
}

/**
 * A cell hurries when its limit has less room than it fills in this many flush intervals at the pace that uses it up exactly, but
 * at most half of it. Others may be filling it too, unheard for a flush interval: 8 covers seven times the limit.
 */
const HURRY_FLUSHES = 8;
/** A hurried cell goes this many times sooner than the next flush. */
const HURRY_PARTS = 10;

/** While closing, a flush that failed is tried again this soon. */
const CLOSE_RETRY_MS = 50;
/** The budget of commands is for a process that goes on; one that closes sends in steps that an origin answers well in time. */
const CLOSE_RAISES_MAX = 10_000;

export class RegionalLayer implements Gate {
  readonly calls: OriginCalls;
  readonly replay: Replay;
  readonly refresh: Refresh;
  readonly merge: CellMerge;
  /** Null if the origin cannot check and count in one call: such requests read, and are replayed later. */
  readonly admission: Admission | null;
  /** Null unless the origin is near. */
  readonly nearLimit: NearLimit | null;
  /** Null if the origin keeps no holds: reservations are then made in memory. */
  readonly holds: RegionalHolds | null;
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  readonly #options: RegionalOptions;
  readonly #hurryWithinMs: number;
  readonly #flushes: Repeat;
  readonly #hurryAlarm: Alarm;
  readonly #renewal: Renewal;
  /** Whether the flush under way carries only cells that go ahead of the regular one, which has become due since. */
  #isAhead = false;
  #isOverdue = false;
  #isRunning = false;

  constructor(engine: Engine, ledger: Ledger, origin: Origin, options: RegionalOptions) {
    const { clock, timers, flushMs, commandsPerSecond, trace, readTimeoutMs } = options;
    this.#engine = engine;
    this.#ledger = ledger;
    this.#options = options;
    this.#hurryWithinMs = HURRY_FLUSHES * flushMs;
    this.#hurryAlarm = new Alarm(timers);
    this.#flushes = new Repeat(
      timers,
      () => this.#flushOnTime(),
      () => flushMs,
    );
    this.calls = new OriginCalls(origin, clock, timers);
    this.merge = new CellMerge(engine, ledger);
    const budget = { flushMs, commandsPerSecond, trace };
    this.replay = new Replay(engine.table, ledger, this.calls, this.merge, clock, budget);
    const flushAhead = () => this.#flushAhead();
    this.#renewal = new Renewal(engine, this.replay, { flushMs, commandsPerSecond, clock, timers, flushAhead });
    const failures = new RecentFailures();
    this.refresh = new Refresh(this.calls, this.merge, failures, clock, readTimeoutMs, trace);
    this.holds = this.calls.canHold ? this.#makeHolds() : null;
    this.admission = this.calls.canAdmit ? this.#admission(failures) : null;
    this.nearLimit =
      origin.isNear === true ? new NearLimit(this.calls, this.merge, { clock, timers, readTimeoutMs }) : null;
  }

  #makeHolds(): RegionalHolds {
    const { clock, timers } = this.#options;
    const client = new HoldClient(this.#engine, this.#ledger, this.calls, this.merge, this.#options);
    return {
      client,
      looks: new Looks(this.#engine, client, this.#options),
      pending: new PendingFrees(client, clock, timers),
    };
  }

  get canLook(): boolean {
    return this.holds !== null;
  }

  #admission(failures: RecentFailures): Admission {
    const { clock, timers, readTimeoutMs, trace } = this.#options;
    return new Admission(this.#engine, this.#ledger, this.calls, this.merge, failures, {
      clock,
      timers,
      readTimeoutMs,
      trace,
      look:
        this.holds === null
          ? null
          : async ({ key }, limit, cost) => (await this.holds!.looks.decide(key, limit, cost)).decision,
      isUsable: ({ slot, sequence, nowMs, key, limit, effective }) =>
        !this.mustAsk(limit - effective, limit) &&
        this.#isUsable(slot, sequence, nowMs, key.durationMs, this.#engine.clock.monoMs()),
      accepted: (slot, { limit, remaining }, isAtOrigin) => {
        const durationMs = this.#engine.table.durationMs(slot);
        if (isAtOrigin) this.#renewal.accepted(slot, durationMs);
        else this.accepted(slot, remaining, limit, durationMs);
      },
      answered: (slot, sequence, component, life, beganMs) => {
        const name = this.#ledger.name(slot);
        if (name === undefined || life === undefined) return;
        this.replay.notes.keep({ slot, name, sequence, component, life, beganMs });
      },
    });
  }

  verdict(slot: Slot, sequence: Sequence, nowMs: number, durationMs: DurationMs): Verdict {
    const { clock } = this.#engine;
    const monoMs = clock.monoMs();
    // Even if the breaker is open: memory does not know the cost of the call that is under way (admission.ts).
    if (slot !== NONE && this.#ledger.isCalling(slot)) return "read";
    if (slot !== NONE && this.#isUsable(slot, sequence, nowMs, durationMs, monoMs)) return "proceed";
    return this.calls.breaker.isOpen(monoMs) ? "degraded" : "read";
  }

  /**
   * A read that was joined began at most one timeout before the request arrived, and the request waited at most one more; an older one
   * means that this process stood still. In the window after the one that was read, the read counts if it began before the window did:
   * the new cell held nothing then, so a read of it would have brought no more.
   */
  suffices({ beganMs, sequence: known }: Waited, sequence: Sequence, nowMs: number, durationMs: DurationMs): boolean {
    const ageMs = this.#engine.clock.monoMs() - beganMs;
    if (ageMs > Math.max(freshnessMs(durationMs), 2 * this.#options.readTimeoutMs)) return false;
    if (known === sequence) return true;
    return known === sequence - 1 && nowMs - windowStartMs(sequence, durationMs) <= ageMs;
  }

  isSettled(slot: Slot, sequence: Sequence): boolean {
    return this.#engine.table.isSettled(slot, sequence, this.#engine.clock.monoMs()) && !this.#ledger.isCalling(slot);
  }

  mustAsk(left: number, limit: number): boolean {
    return this.nearLimit?.isNear(left, limit) === true;
  }

  accepted(slot: Slot, left: number, limit: number, durationMs: DurationMs): void {
    const withinMs = this.#hurryWithinMs;
    if (left * Math.max(durationMs, 2 * withinMs) < limit * withinMs) this.#hurry(slot);
    this.#renewal.accepted(slot, durationMs);
  }

  /**
   * A charge goes ahead of the flush when it brings its key near its limit or beyond. From then on others know that the key is over its
   * limit, and further charges change nothing about that. A near origin gets it at once: the caller's next request may go to another
   * process, which asks there.
   */
  charged(slot: Slot, left: number, limit: number, durationMs: DurationMs, isNews: boolean): void {
    this.accepted(slot, isNews ? left : limit, limit, durationMs);
    if (isNews && this.mustAsk(left, limit)) this.nearLimit!.send(this.#ledger.name(slot)!.key);
  }

  /** The deadline is one duration from now, whether the key has a slot or not, and whatever becomes of that slot. */
  denied(key: Key, slot: Slot): void {
    this.#engine.raiseStrictUntil(key, slot, this.#engine.clock.monoMs() + key.durationMs);
  }

  /** Reads the cells of a key that `verdict` asked for: a failure if that takes longer than the read timeout. */
  async read(key: Key, mayClaim: boolean): Promise<Waited> {
    const [waited] = await this.readMany([{ key, mayClaim }]);
    return waited!;
  }

  /** The same for several keys. They wait for one read each, of those that began early enough for the request. */
  async readMany(keys: readonly { readonly key: Key; readonly mayClaim: boolean }[]): Promise<readonly Waited[]> {
    const arrivedMs = this.#engine.clock.monoMs();
    const { readTimeoutMs, timers } = this.#options;
    const wishes = keys.map(({ key, mayClaim }) => this.#wish(key, mayClaim, arrivedMs));
    // Somebody waits for it: the deadline keeps the process alive.
    const read = await withDeadline(() => this.refresh.readMany(wishes), readTimeoutMs, timers, undefined, true);
    // A process that was frozen for longer than the timeout may handle the answer before its timer: it is late anyway.
    const isInTime = this.#engine.clock.monoMs() - arrivedMs <= readTimeoutMs;
    const outcomes =
      read.kind === "done" && isInTime ? read.value : wishes.map(() => failure(0 as Sequence, arrivedMs));
    return outcomes.map((outcome) => ({ ...outcome, source: "origin", arrivedMs }));
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#renewal.expectFlush(this.#options.flushMs);
    this.#flushes.start();
  }

  stop(): void {
    this.#isRunning = false;
    this.#flushes.stop();
    this.#hurryAlarm.clear();
    this.#renewal.stop();
  }

  /** Stops, replays what is left, and says what could not be: cost accepted but not confirmed. */
  async close(deadlineMs: number): Promise<number> {
    this.stop();
    const { clock, timers } = this.#options;
    const endMs = clock.monoMs() + deadlineMs;
    for (let left = this.replay.unconfirmed(); left > 0 && clock.monoMs() < endMs; ) {
      const before = left;
      await this.replay.flushOnce(CLOSE_RAISES_MAX);
      left = this.replay.unconfirmed();
      if (left >= before) await pause(timers, CLOSE_RETRY_MS);
    }
    const lost = this.replay.unconfirmed();
    await this.calls.close(Math.max(CLOSE_RETRY_MS, endMs - clock.monoMs()));
    return lost;
  }

  #flushOnTime(): void {
    this.#renewal.expectFlush(this.#options.flushMs);
    this.#flush();
  }

  /** A flush that is due while others go ahead of it begins when they have been answered, not an interval later. */
  #flush(): void {
    this.#isOverdue = this.#isAhead;
    if (this.replay.isFlushing) return;
    this.#renewal.clear();
    void this.replay.flushOnce().then(() => this.#flushed());
  }

  #flushAhead(): void {
    if (this.replay.isFlushing) return;
    this.#isAhead = true;
    void this.replay.flushHurriedOnce().then(() => {
      this.#isAhead = false;
      this.#flushed();
    });
  }

  #flushed(): void {
    if (!this.#isRunning) return;
    if (this.#isOverdue) this.#flush();
    else this.#renewal.look();
  }

  /** The slot goes ahead of the next flush, with all that hurry by then. */
  #hurry(slot: Slot): void {
    this.replay.hurried.add(slot);
    if (this.#hurryAlarm.isSet || !this.#isRunning) return;
    this.#hurryAlarm.set(() => this.#flushAhead(), this.#options.flushMs / HURRY_PARTS);
  }

  /** Fresh, not strict, and both cells known: memory may decide alone. */
  #isUsable(slot: Slot, sequence: Sequence, nowMs: number, durationMs: DurationMs, monoMs: number): boolean {
    const { table } = this.#engine;
    if (monoMs < table.strictUntilMs(slot)) return false;
    const previousFreshUntilMs = table.freshUntilMs(slot, (sequence - 1) as Sequence);
    if (monoMs >= previousFreshUntilMs) return false;
    // A window younger than the freshness interval has nothing in it that is older than that interval.
    if (nowMs - windowStartMs(sequence, durationMs) < freshnessMs(durationMs)) return true;
    return monoMs < table.freshUntilMs(slot, sequence);
  }

  /** A near origin is read after the arrival of each request: it then knows of all that callers were told before. */
  #wish(key: Key, mayClaim: boolean, arrivedMs: number): ReadWish {
    if (this.nearLimit !== null) return { key, notBeforeMs: arrivedMs, mayClaim };
    const strictUntilMs = this.#engine.strictUntilMs(key);
    const notBeforeMs = strictUntilMs === 0 ? Number.NEGATIVE_INFINITY : strictUntilMs - key.durationMs;
    return { key, notBeforeMs, mayClaim };
  }

  /** The clock was set back: what is known of any cell may be of another time. */
  makeAllStale(): void {
    const { table } = this.#engine;
    for (let slot = 0 as Slot; slot < table.highWater; slot = (slot + 1) as Slot) {
      if (!table.isFree(slot)) table.makeStale(slot);
    }
  }
}
