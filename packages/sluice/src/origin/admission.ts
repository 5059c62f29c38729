/**
 * Admission: requests that memory would allow, but may not decide alone, are checked and counted by the origin in one call.
 *
 * ```
 *  cold, stale or strict ──▶ queue of the key ──▶ call: own totals + costs ──▶ origin checks, counts, answers ──▶ memory
 *                              (one per slot)      one per key at a time         or no answer in time ──▶ allowed, degraded
 * ```
 * When no call of the key is under way, its queue is gone through in order of arrival. Memory denies what does not fit. If the key is fresh
 * and not strict, memory allows. Otherwise the request joins the next call, as long as all of that call fits memory together.
 *
 * Invariants (docs/decisions/0022): while requests of a key wait, memory allows none of its single requests beside the call. A call ends
 * exactly once, and what it may have counted at the origin is counted here: an answer counts what was allowed, no answer counts everything.
 * Both count in the cell and under the writer id that the call was sent with. A denial is always a denial by memory: "not allowed" means not
 * counted, and memory has just merged the sums.
 *
 * Batches and peeks do not come here: they read (refresh.ts).
 */
import type { Sequence, Slot } from "../core/brands.ts";
import type { Clock, Timers } from "../core/clock.ts";
import type { Trace } from "../core/trace.ts";
import { recordAdmitted } from "../engine/admitted.ts";
import { NONE } from "../engine/cell-table.ts";
import type { Decision } from "../engine/decision.ts";
import type { Engine } from "../engine/engine.ts";
import { fits } from "../engine/judge.ts";
import { encodeKey } from "../engine/key.ts";
import type { HashedKey } from "../engine/key-hash.ts";
import type { Layers } from "../engine/layers.ts";
import type { Ledger } from "../engine/ledger.ts";
import { record } from "../engine/record.ts";
import { cellExpiryMs, sequenceAt, windowEndMs } from "../engine/sequence.ts";
import { type View, viewOf } from "../engine/view.ts";
import type { CellMerge } from "./cell-merge.ts";
import type { Admit, Admitted, OriginCount } from "./origin.ts";
import type { OriginCalls } from "./origin-calls.ts";
import type { RecentFailures } from "./recent-failures.ts";

/** Requests in one call. */
const REQUESTS_MAX = 64;
/** Calls that may carry a request. Only a weight that falls while a call is under way makes a second one necessary. */
const CALLS_MAX = 4;
/** Requests of one turn may have arrived this much before their call begins: the clock is read once per millisecond. */
const TURN_MS = 1;
/** More keys than this, or more bytes of names, do not wait at once: memory decides the rest. */
const QUEUES_MAX = 10_000;
const QUEUES_MAX_BYTES = 32 * 2 ** 20;
/** A queue with one request and its call, beside the texts of its key. */
const QUEUE_BYTES = 1_000;

/** A request that waits. */
interface Waiter {
  readonly limit: number;
  readonly cost: number;
  readonly arrivedMs: number;
  /** Calls that carried it. */
  calls: number;
  /** Whether an answer about its key has arrived since it did. */
  isAnswered: boolean;
  readonly resolve: (decision: Decision | Promise<Decision>) => void;
  readonly reject: (error: unknown) => void;
}

/** The requests of one key that wait, oldest first. It lives as long as its slot is marked as calling. */
interface Queue {
  readonly hashed: HashedKey;
  readonly slot: Slot;
  readonly bytes: number;
  waiters: Waiter[];
  call: Call | null;
  isDue: boolean;
}

interface Call {
  readonly queue: Queue;
  readonly admit: Admit;
  readonly sequence: Sequence;
  readonly waiters: readonly Waiter[];
  readonly beganMs: number;
  /** Whether it was sent before the counts of other regions that take part in the window had arrived. */
  readonly isUnheard: boolean;
  /** When its oldest request has waited for the read timeout. */
  readonly deadlineMs: number;
  handle: unknown;
  hasEnded: boolean;
}

export interface AdmissionOptions {
  readonly readTimeoutMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly trace: Trace | null;
  /** Decides a request that does not fit beside the known holds of its key; null if holds are not known at the origin. */
  readonly look: ((hashed: HashedKey, limit: number, cost: number) => Promise<Decision>) | null;
  /** Whether memory may decide the slot's key alone, apart from calls under way. */
  readonly isUsable: (view: View) => boolean;
  /** Cost was counted by a call's end. `isAtOrigin`: the origin has it. */
  readonly accepted: (slot: Slot, decision: Decision, isAtOrigin: boolean) => void;
  /** The origin answered for this slot: what it now has of the writer's cells, unless they are raised again. */
  readonly answered: (
    slot: Slot,
    sequence: Sequence,
    component: number,
    life: number | undefined,
    beganMs: number,
  ) => void;
}

export class Admission {
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  readonly #calls: OriginCalls;
  readonly #merge: CellMerge;
  readonly #failures: RecentFailures;
  readonly #options: AdmissionOptions;
  readonly #queues = new Map<Slot, Queue>();
  /** Queues to go through at the end of this turn. */
  #due: Queue[] = [];
  #isScheduled = false;
  #bytes = 0;
  #calling = 0;

  constructor(
    engine: Engine,
    ledger: Ledger,
    calls: OriginCalls,
    merge: CellMerge,
    failures: RecentFailures,
    options: AdmissionOptions,
  ) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#calls = calls;
    this.#merge = merge;
    this.#failures = failures;
    this.#options = options;
    ledger.onGiveUp = (slot) => this.#giveUp(slot);
  }

  /** Keys whose requests wait. */
  get inFlight(): number {
    return this.#queues.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Decides a request with a cost that memory would allow. Null if the table has no room for its key. `arrivedMs`: if it has waited already,
   * for a read because there was no room.
   */
  decide(hashed: HashedKey, limit: number, cost: number, arrivedMs?: number): Promise<Decision> | null {
    const slot = this.#place(hashed);
    if (slot === NONE) return null;
    const queue = this.#queues.get(slot) ?? this.#open(hashed, slot);
    return new Promise((resolve, reject) => {
      const nowMs = this.#engine.clock.monoMs();
      const waiter = { limit, cost, arrivedMs: arrivedMs ?? nowMs, calls: 0, isAnswered: false, resolve, reject };
      if (queue === null) {
        this.#settle(waiter, () => this.#byMemory(hashed, slot, waiter, true));
        return;
      }
      if (queue.call !== null && this.#calls.breaker.isOpen(nowMs) && this.#fitsBeside(queue.call, waiter)) {
        this.#settle(waiter, () => this.#byMemory(hashed, slot, waiter, true));
        return;
      }
      queue.waiters.push(waiter);
      if (queue.call !== null) return;
      this.#makeDue(queue);
      // A breaker that lets one call through to probe the origin: requests after this one must not wait for the same probe.
      if (this.#calls.breaker.state !== "closed") this.#sendDue();
    });
  }

  /** Whether a request fits together with all of a call. While the breaker is open it need not wait for the call's end then. */
  #fitsBeside({ queue, waiters }: Call, waiter: Waiter): boolean {
    const ahead = waiters.reduce((sum, { cost }) => sum + cost, 0);
    return fits(this.#view(queue.hashed, queue.slot, waiter, this.#engine.clock.nowMs(), ahead));
  }

  /** The key's slot, or a new one, turned to the current window. */
  #place(hashed: HashedKey): Slot {
    const engine = this.#engine;
    const { key, h0, h1, h2 } = hashed;
    const nowMs = engine.clock.nowMs();
    const sequence = sequenceAt(nowMs, key.durationMs);
    const slot = engine.table.find(h0, h1, h2, key.durationMs);
    if (slot === NONE) {
      engine.beginTick();
      return engine.claim(hashed, sequence, nowMs, null);
    }
    this.#turn(slot, hashed, sequence);
    return slot;
  }

  #turn(slot: Slot, { key }: HashedKey, sequence: Sequence): void {
    this.#layers.giveUpLater(slot, key, sequence);
    this.#engine.table.rotate(slot, sequence);
  }

  /** Null if too many keys wait already. */
  #open(hashed: HashedKey, slot: Slot): Queue | null {
    const bytes = QUEUE_BYTES + 2 * (this.#ledger.name(slot)?.bytes ?? 0);
    if (this.#queues.size >= QUEUES_MAX || this.#bytes + bytes > QUEUES_MAX_BYTES) return null;
    const queue = { hashed, slot, bytes, waiters: [], call: null, isDue: false };
    this.#queues.set(slot, queue);
    this.#bytes += bytes;
    this.#ledger.markCalling(slot);
    return queue;
  }

  #close(queue: Queue): void {
    this.#queues.delete(queue.slot);
    this.#bytes -= queue.bytes;
    this.#ledger.unmarkCalling(queue.slot);
  }

  /** Calls of one turn are sent together. */
  #makeDue(queue: Queue): void {
    if (queue.isDue) return;
    queue.isDue = true;
    this.#due.push(queue);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    void Promise.resolve().then(() => {
      this.#isScheduled = false;
      this.#sendDue();
    });
  }

  #sendDue(): void {
    const due = this.#due;
    this.#due = [];
    const calls: Call[] = [];
    for (const queue of due) {
      queue.isDue = false;
      // Another turn of the same queue may have begun a call, or ended the queue.
      if (queue.call !== null || this.#queues.get(queue.slot) !== queue) continue;
      const call = this.#next(queue);
      if (call !== null) calls.push(call);
    }
    if (calls.length > 0) this.#send(calls);
  }

  /** Goes through a queue without a call, and begins the next call if one is needed. */
  #next(queue: Queue): Call | null {
    try {
      const call = this.#gather(queue);
      if (call === null) this.#close(queue);
      return call;
    } catch (error) {
      // The clock fails: nothing was sent, and nothing is counted.
      const { waiters } = queue;
      queue.waiters = [];
      this.#close(queue);
      for (const { reject } of waiters) reject(error);
      return null;
    }
  }

  #gather(queue: Queue): Call | null {
    const { hashed, slot, waiters } = queue;
    const nowMs = this.#engine.clock.nowMs();
    const monoMs = this.#engine.clock.monoMs();
    this.#turn(slot, hashed, sequenceAt(nowMs, hashed.key.durationMs));
    const mustNotCall = this.#calls.breaker.isOpen(monoMs) || this.#hasJustFailed(hashed, monoMs);
    const joined: Waiter[] = [];
    let ahead = 0;
    let i = 0;
    for (; i < waiters.length; i++) {
      const waiter = waiters[i]!;
      const view = this.#view(hashed, slot, waiter, nowMs, 0);
      if (!fits(view)) {
        this.#settle(waiter, () => this.#deny(view, slot));
        continue;
      }
      // It fits, but not together with the call that is being made: it waits for that call's end, and so do all behind it.
      if (view.effective + ahead > waiter.limit) break;
      const isSpent = waiter.calls >= CALLS_MAX || monoMs - waiter.arrivedMs >= this.#options.readTimeoutMs;
      const isDegraded = mustNotCall || isSpent;
      if (!isDegraded && this.#mustLook(view)) {
        if (joined.length > 0) break;
        waiter.resolve(this.#options.look!(hashed, waiter.limit, waiter.cost));
        continue;
      }
      if (joined.length === 0 && (isDegraded || this.#options.isUsable(view))) {
        this.#settle(waiter, () => this.#allow(view, slot, isDegraded));
        continue;
      }
      if (joined.length >= REQUESTS_MAX) break;
      joined.push(waiter);
      ahead += waiter.cost;
    }
    queue.waiters = waiters.slice(i);
    return joined.length === 0 ? null : this.#begin(queue, joined, nowMs, monoMs);
  }

  #begin(queue: Queue, waiters: readonly Waiter[], nowMs: number, beganMs: number): Call {
    const { slot } = queue;
    const { key } = queue.hashed;
    const { durationMs } = key;
    const { table } = this.#engine;
    const sequence = sequenceAt(nowMs, durationMs);
    const before = (sequence - 1) as Sequence;
    const admit: Admit = {
      key: encodeKey(key),
      sequence,
      writer: this.#ledger.name(slot)!.writer,
      total: table.own(slot, sequence),
      previousTotal: table.own(slot, before),
      expiresAtMs: cellExpiryMs(sequence, durationMs),
      previousExpiresAtMs: cellExpiryMs(before, durationMs),
      foreign: table.foreign(slot, sequence),
      previousForeign: table.foreign(slot, before),
      leftMs: windowEndMs(sequence, durationMs) - nowMs,
      durationMs,
      requests: waiters.map(({ limit, cost }) => ({ limit, cost })),
      call: ++this.#calling,
    };
    const deadlineMs = waiters[0]!.arrivedMs + this.#options.readTimeoutMs;
    const isUnheard = durationMs >= this.#layers.unheardFromMs;
    const sent = { queue, admit, sequence, waiters, beganMs, isUnheard, deadlineMs };
    const call = { ...sent, handle: undefined, hasEnded: false };
    for (const waiter of waiters) waiter.calls++;
    queue.call = call;
    return call;
  }

  #send(calls: readonly Call[]): void {
    const { timers } = this.#options;
    const beganMs = calls[0]!.beganMs;
    // The origin has the whole read timeout for a message, even if its requests have waited for other calls before: with less, answers that are as
    // fast as ever would be late, and the breaker would count them as failures.
    const wholeMs = beganMs + this.#options.readTimeoutMs - TURN_MS;
    const dueMs = calls.reduce((latest, { deadlineMs }) => Math.max(latest, deadlineMs), wholeMs);
    for (const call of calls) {
      // The message's own deadline serves most of them.
      if (call.deadlineMs === dueMs) continue;
      const inMs = Math.max(0, call.deadlineMs - beganMs);
      call.handle = timers.set(() => this.#endAll([call], null, undefined), inMs, true);
    }
    const life = this.#calls.life();
    const admits = calls.map(({ admit }) => admit);
    const sent = this.#calls.admit(admits, dueMs - beganMs);
    void sent.then(
      (answers) => this.#endAll(calls, answers, life),
      () => this.#endAll(calls, null, life),
    );
  }

  /** Ends calls, and goes on with their queues: the calls that follow travel together. */
  #endAll(
    calls: readonly Call[],
    answers: readonly (Admitted | null)[] | "refused" | null,
    life: number | undefined,
  ): void {
    calls.forEach((call, i) => {
      if (call.hasEnded) return;
      if (answers === "refused") this.#refuse(call);
      else this.#end(call, answers?.[i] ?? null, life);
      if (call.queue.waiters.length === 0) this.#close(call.queue);
      else this.#makeDue(call.queue);
    });
  }

  #finish(call: Call): void {
    call.hasEnded = true;
    call.queue.call = null;
    if (call.handle !== undefined) this.#options.timers.clear(call.handle);
  }

  /** It was not sent: memory decides its requests. */
  #refuse(call: Call): void {
    this.#finish(call);
    const { hashed, slot } = call.queue;
    for (const waiter of call.waiters) this.#settle(waiter, () => this.#byMemory(hashed, slot, waiter, true));
  }

  #end(call: Call, answer: Admitted | null, life: number | undefined, isByClock = false): void {
    const { queue, admit, sequence, waiters, beganMs } = call;
    const monoMs = this.#monoMs();
    // A process that stood still may handle the answer before the timer of its deadline: it is late anyway.
    const isLate = monoMs > call.deadlineMs;
    const allowed = isLate ? null : (answer?.allowed ?? null);
    this.#finish(call);
    this.#emit(call, allowed === null ? null : answer, monoMs);
    if (answer === null || allowed === null) {
      // A call that was repeated or overtaken is no failure of the origin: the next one sends a higher total. Nor is one whose requests had
      // waited for other calls, and had no time left for this one, or one that a clock ended.
      const hadTime = call.deadlineMs >= beganMs + this.#options.readTimeoutMs - TURN_MS;
      const isFailure = isLate || monoMs >= call.deadlineMs ? hadTime : answer === null;
      if (isFailure && !isByClock) this.#failures.keep(admit.key, monoMs);
      for (const waiter of waiters) this.#count(call, waiter, false);
      return;
    }
    this.#failures.forget(admit.key);
    this.#merge.applyAdmit(queue.slot, sequence, answer.current, answer.previous, beganMs);
    waiters.forEach((waiter, i) => {
      if (allowed[i] === true) this.#count(call, waiter, true);
    });
    this.#options.answered(queue.slot, sequence, answer.current.component, life, beganMs);
    // Not counted: memory decides as of now, with the sums that it has just merged.
    if (allowed.includes(false)) queue.waiters.unshift(...waiters.filter((_, i) => allowed[i] !== true));
    for (const waiter of queue.waiters) waiter.isAnswered = true;
  }

  /** A clock that was set makes the slot forget the window of its call: what the call may have counted must be counted before. */
  #giveUp(slot: Slot): void {
    const queue = this.#queues.get(slot);
    if (queue === undefined) return;
    if (queue.call !== null) this.#end(queue.call, null, undefined, true);
    this.#makeDue(queue);
  }

  #count({ queue, sequence, admit, isUnheard }: Call, waiter: Waiter, isAtOrigin: boolean): void {
    const { slot, hashed } = queue;
    const { limit, cost, arrivedMs } = waiter;
    const source = isAtOrigin ? "origin" : "local";
    const isDegraded = isUnheard || !isAtOrigin;
    const sent = { key: hashed.key, slot, sequence, call: admit.call } as const;
    const admitted = { ...sent, limit, cost, arrivedMs, source, isDegraded } as const;
    this.#settle(waiter, () => {
      const decision = recordAdmitted(this.#engine, this.#layers, admitted, this.#nowMs());
      this.#options.accepted(slot, decision, isAtOrigin);
      return decision;
    });
  }

  #byMemory(hashed: HashedKey, slot: Slot, waiter: Waiter, isDegraded: boolean): Decision {
    const nowMs = this.#engine.clock.nowMs();
    this.#turn(slot, hashed, sequenceAt(nowMs, hashed.key.durationMs));
    const view = this.#view(hashed, slot, waiter, nowMs, 0);
    return fits(view) ? this.#allow(view, slot, isDegraded) : this.#deny(view, slot);
  }

  #deny(view: View, slot: Slot): Decision {
    return record(this.#engine, view, "deny", slot, this.#layers.basis(slot, view.sequence), 0);
  }

  #allow(view: View, slot: Slot, isDegraded: boolean): Decision {
    const outcome = isDegraded || view.key.durationMs >= this.#layers.unheardFromMs ? "degraded" : "proceed";
    return record(this.#engine, view, outcome, slot, this.#layers.basis(slot, view.sequence), 0);
  }

  #view(hashed: HashedKey, slot: Slot, waiter: Waiter, nowMs: number, ahead: number): View {
    const { limit, cost, arrivedMs, isAnswered } = waiter;
    const sequence = sequenceAt(nowMs, hashed.key.durationMs);
    const [current, previous, source] = [0, 0, "origin" as const];
    const waited = { isOk: isAnswered, beganMs: arrivedMs, sequence, current, previous, source, arrivedMs };
    // No spread: it takes longer than the view.
    const { key, h0, h1, h2 } = hashed;
    return viewOf(this.#engine.table, { key, h0, h1, h2, limit, cost }, slot, nowMs, ahead, waited);
  }

  #settle({ resolve, reject }: Waiter, decide: () => Decision): void {
    try {
      resolve(decide());
    } catch (error) {
      reject(error);
    }
  }

  /** The origin counts nothing that does not fit beside holds, so asking it to is of no use. */
  #mustLook(view: View): boolean {
    const { held } = this.#engine;
    if (held === null || this.#options.look === null) return false;
    return view.effective + held.costOf(view, view.nowMs) > view.limit;
  }

  #hasJustFailed({ key }: HashedKey, monoMs: number): boolean {
    return !this.#failures.isEmpty && this.#failures.has(encodeKey(key), monoMs);
  }

  get #layers(): Layers {
    return this.#engine.layers!;
  }

  /** The end of a call must be counted even if the clock fails. */
  #nowMs(): number {
    const { clock } = this.#engine;
    try {
      return clock.nowMs();
    } catch {
      return clock.lastMs;
    }
  }

  #monoMs(): number {
    try {
      return this.#options.clock.monoMs();
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }

  #emit({ admit, beganMs }: Call, answer: Admitted | null, monoMs: number): void {
    const { trace, clock } = this.#options;
    if (trace === null) return;
    const { key, sequence, writer, total, previousTotal, call } = admit;
    const clocks = { wallMs: clock.wallMs(), monoMs, beganMs, isAnswered: answer !== null, call };
    const { current, previous } = answer ?? { current: NOTHING, previous: NOTHING };
    trace({ kind: "admit", key, sequence, writer, total, ...clocks, ...counts(current) });
    trace({ kind: "admit", key, sequence: sequence - 1, writer, total: previousTotal, ...clocks, ...counts(previous) });
  }
}

const NOTHING: OriginCount = { sum: 0, component: 0 };

function counts({ sum, component }: OriginCount): OriginCount {
  return { sum, component };
}
