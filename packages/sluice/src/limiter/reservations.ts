/**
 * The reservations of a limiter: made at the origin where it can hold them, else in this process's memory.
 *
 * Invariants: a reservation is held in one place and ends there. One that the origin did not answer is cancelled there before it is held in
 * memory. A settlement at the origin is counted by the origin; one in memory is a charge. Nothing is counted that nobody reported.
 *
 * Bounded: HOLDS_OPEN_MAX reservations per process; `holdsMax` per key. Requests beyond that are denied with the reason `holds`.
 */
import { HOLDS_OPEN_MAX, RESERVE_MAX } from "../core/bounds.ts";
import type { Clock, Random, Timers } from "../core/clock.ts";
import { SluiceError } from "../core/errors.ts";
import { Alarm } from "../core/repeat.ts";
import { charge } from "../engine/charge.ts";
import type { BatchDecision, Decision } from "../engine/decision.ts";
import { encodeKey, type Key } from "../engine/key.ts";
import { type ReserveCode, reserveDecision, reserveInMemory } from "../engine/reserve.ts";
import type { FreedItem, FreeVerb, HeldItem } from "../origin/hold.ts";
import type { FreeItem, HoldOutcome, ReserveItem } from "../origin/hold-client.ts";
import { OriginIdentity } from "../origin/origin-identity.ts";
import { amountsByKey, Lease } from "./lease.ts";
import { checkCost } from "./request.ts";
import { type LeaseVerbs, Reservation, type Settlement } from "./reservation.ts";
import { drawId, type ReservationToken, readToken, tokenOf } from "./reservation-token.ts";
import type { Stack } from "./stack.ts";

/** Renewals of one command, and how far apart two rounds of them are at least. */
const RENEWALS_MAX = 64;
const RENEWAL_PARTS = 3;
const RENEWAL_MIN_MS = 250;
/** What ended here is remembered for as long as an origin remembers it at least. */
const ENDED_KEPT_MS = 600_000;
/** An expired reservation in memory can be settled for this long. */
const EXPIRED_KEPT_MS = 3_600_000;

export interface ReservationTally {
  reserved: number;
  refused: number;
  settled: number;
  released: number;
  late: number;
  /** Holds that an automatic renewal found to be over. */
  lost: number;
  degraded: number;
}

/** What the caller asked for beside the limits. */
interface Terms {
  readonly ttlMs: number;
  readonly autoRenew: boolean;
  readonly isList: boolean;
}

export class Reservations implements LeaseVerbs {
  readonly tally: ReservationTally = {
    reserved: 0,
    refused: 0,
    settled: 0,
    released: 0,
    late: 0,
    lost: 0,
    degraded: 0,
  };
  readonly #stack: Stack;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #holdsMax: number;
  readonly #identity: OriginIdentity | null;
  /** Names this process in the tokens of what it holds in memory. */
  #self = "";
  #originId = "";
  /** What is open, or was until recently, by id: oldest first. */
  readonly #leases = new Map<string, Lease>();
  #open = 0;
  readonly #renewed = new Map<Lease, number>();
  readonly #alarm: Alarm;
  #isClosed = false;

  constructor(
    stack: Stack,
    options: { readonly clock: Clock; readonly timers: Timers; readonly random: Random; readonly holdsMax: number },
  ) {
    this.#stack = stack;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#holdsMax = options.holdsMax;
    this.#alarm = new Alarm(options.timers);
    const { regional } = stack;
    this.#identity = regional === null ? null : new OriginIdentity(regional.calls, options.clock, options.random);
  }

  /** Whether reservations are shared by the processes of the region. */
  get isAtOrigin(): boolean {
    return this.#stack.regional?.holds != null;
  }

  get open(): number {
    this.#sweep();
    return this.#open;
  }

  async reserve<Amount>(items: readonly ReserveItem[], terms: Terms): Promise<Reservation<Amount>> {
    const codes = await this.#reserve(items, terms);
    const decisions = items.map((item, i) =>
      reserveDecision(this.#stack.engine, item, codes.codes[i]!, codes.source, codes.isDegraded),
    );
    const { lease } = codes;
    if (lease === null) this.tally.refused++;
    else {
      this.tally.reserved++;
      if (codes.isDegraded) this.tally.degraded++;
      this.#leases.set(lease.id, lease);
      this.#open++;
      if (terms.autoRenew) this.#renewLater(lease);
    }
    return new Reservation<Amount>(this, lease, decisions);
  }

  tokenOf(lease: Lease): string {
    lease.isGiven = true;
    const place = lease.place === "memory" ? this.#selfId() : this.#originId;
    return tokenOf({ id: lease.id, place, keys: lease.keys });
  }

  async settle(lease: Lease, given: number | readonly number[]): Promise<Settlement<number | readonly number[]>> {
    const amounts = amountsOf(given, lease.items.length);
    if (lease.ended !== null) return this.#settledBefore(lease, amounts, !Array.isArray(given));
    if (lease.place === "memory") return this.#settleInMemory(lease, amounts, !Array.isArray(given));
    lease.ended = { verb: "settle", amounts };
    this.#close(lease);
    try {
      return await this.#settleAtOrigin(lease, lease.id, lease.keys, amounts, !Array.isArray(given));
    } catch (error) {
      // Nothing was counted: what the origin says next time is the truth.
      lease.ended = null;
      this.#leases.delete(lease.id);
      throw error;
    }
  }

  /** With a token, in any process of the region. */
  async settleToken(
    token: unknown,
    given: number | readonly number[],
  ): Promise<Settlement<number | readonly number[]>> {
    const read = await this.#read(token);
    const amounts = amountsOf(given, read.keys.length);
    const lease = this.#leases.get(read.id);
    if (lease !== undefined) return this.settle(lease, given);
    return this.#settleAtOrigin(null, read.id, read.keys, amounts, !Array.isArray(given));
  }

  async release(lease: Lease): Promise<void> {
    if (lease.ended !== null) {
      if (lease.ended.verb === "release") return;
      throw new SluiceError("RL_RESERVATION_ENDED", "reservation", "settled before");
    }
    lease.ended = { verb: "release" };
    this.#close(lease);
    if (lease.place === "memory") this.#forgetInMemory(lease);
    else await this.#releaseAtOrigin(lease.id, lease.keys, true);
    this.tally.released++;
  }

  async releaseToken(token: unknown): Promise<void> {
    const read = await this.#read(token);
    const lease = this.#leases.get(read.id);
    if (lease !== undefined) return this.release(lease);
    await this.#releaseAtOrigin(read.id, read.keys, false);
    this.tally.released++;
  }

  async renew(lease: Lease): Promise<number> {
    if (lease.ended !== null)
      throw new SluiceError("RL_RESERVATION_ENDED", "reservation", `${lease.ended.verb}d before`);
    if (lease.place === "memory") {
      const nowMs = this.#stack.engine.clock.nowMs();
      if (lease.deadlineMs <= nowMs) throw new SluiceError("RL_RESERVATION_ENDED", "reservation", "expired");
      lease.deadlineMs = nowMs + lease.ttlMs;
      this.#holdInMemory(lease);
      return lease.deadlineMs;
    }
    lease.deadlineMs = Math.max(lease.deadlineMs, await this.#renewAtOrigin(lease.id, lease.keys, lease.ttlMs));
    return lease.deadlineMs;
  }

  async renewToken(token: unknown, ttlMs: number): Promise<number> {
    const read = await this.#read(token);
    const lease = this.#leases.get(read.id);
    return lease === undefined ? this.#renewAtOrigin(read.id, read.keys, ttlMs) : this.renew(lease);
  }

  async extend(lease: Lease, given: number | readonly number[]): Promise<BatchDecision> {
    const more = amountsOf(given, lease.items.length, "cost");
    if (lease.ended !== null)
      throw new SluiceError("RL_RESERVATION_ENDED", "reservation", `${lease.ended.verb}d before`);
    const items = lease.items.map((item, i) => ({ ...item, cost: lease.costs[i]! + more[i]! }));
    for (const { cost } of items) checkCost(cost);
    const { codes, source, isDegraded, deadlineMs } = await this.#extend(lease, items);
    const decisions = items.map((item, i) => {
      // What is asked for is the difference: the rest is among the holds already.
      const code = codes[i]!;
      return reserveDecision(this.#stack.engine, { ...item, cost: more[i]! }, code, source, isDegraded);
    });
    const success = codes.every((code) => code === "held");
    if (success) {
      lease.costs = items.map(({ cost }) => cost);
      lease.deadlineMs = Math.max(lease.deadlineMs, deadlineMs);
    }
    return { success, decisions };
  }

  /** Stops renewing, and delivers what is pending. Answers what settlements that nobody confirmed would have counted. */
  async close(deadlineMs: number): Promise<number> {
    this.#isClosed = true;
    this.#alarm.clear();
    this.#renewed.clear();
    return (await this.#stack.regional?.holds?.pending.close(deadlineMs)) ?? 0;
  }

  async #reserve(items: readonly ReserveItem[], terms: Terms): Promise<Reserved> {
    const { ttlMs } = terms;
    if (this.#open >= HOLDS_OPEN_MAX) this.#sweep();
    if (this.#open >= HOLDS_OPEN_MAX) return { ...REFUSED, codes: items.map(() => "holds") };
    const holds = this.#stack.regional?.holds ?? null;
    if (holds === null) return this.#inMemory(items, terms, false);
    const learnt = this.#learnOrigin();
    for (let attempt = 0; attempt < 2; attempt++) {
      const id = drawId(this.#random);
      const outcome = await holds.client.hold(id, items, ttlMs, true);
      // The token names the origin. One that has just answered tells soon.
      if (outcome.kind === "held") await learnt;
      const cancelled = toCancel(outcome, items);
      // The caller is answered at once: cancels are delivered in the background.
      if (cancelled.length > 0) void holds.pending.send(freesOf(id, cancelled, "cancel"));
      if (outcome.kind === "again") continue;
      if (outcome.kind === "unavailable") return this.#inMemory(items, terms, true);
      const codes = outcome.items.map(({ code }) => CODES[code]);
      const { isList } = terms;
      const lease =
        outcome.kind === "held"
          ? new Lease(id, "origin", items, { ttlMs, deadlineMs: outcome.deadlineMs, isList })
          : null;
      return { codes, lease, source: "origin", isDegraded: false };
    }
    return this.#inMemory(items, terms, true);
  }

  #inMemory(items: readonly ReserveItem[], { ttlMs, isList }: Terms, isDegraded: boolean): Reserved {
    const { engine } = this.#stack;
    const id = drawId(this.#random);
    const deadlineMs = engine.clock.nowMs() + ttlMs;
    const codes = reserveInMemory(engine, id, items, deadlineMs, this.#holdsMax);
    const isHeld = codes.every((code) => code === "held");
    const lease = isHeld ? new Lease(id, "memory", items, { ttlMs, deadlineMs, isList }) : null;
    return { codes, lease, source: "local", isDegraded };
  }

  async #extend(
    lease: Lease,
    items: readonly ReserveItem[],
  ): Promise<Omit<Reserved, "lease"> & { readonly deadlineMs: number }> {
    const { engine } = this.#stack;
    const deadlineMs = engine.clock.nowMs() + lease.ttlMs;
    if (lease.place === "memory") {
      const had = new Map(
        [...amountsByKey(lease.keys, lease.costs)].map(([text, { amount }]) => [text, amount] as const),
      );
      const codes = reserveInMemory(engine, lease.id, items, deadlineMs, this.#holdsMax, had);
      return { codes, source: "local", isDegraded: this.isAtOrigin, deadlineMs };
    }
    const outcome = await this.#stack.regional!.holds!.client.hold(lease.id, items, lease.ttlMs, false);
    if (outcome.kind === "held" || outcome.kind === "refused") {
      const codes = outcome.items.map(({ code }) => CODES[code]);
      const until = outcome.kind === "held" ? outcome.deadlineMs : lease.deadlineMs;
      return { codes, source: "origin", isDegraded: false, deadlineMs: until };
    }
    return { codes: items.map(() => "reserved"), source: "local", isDegraded: true, deadlineMs: lease.deadlineMs };
  }

  #settleInMemory(lease: Lease, amounts: readonly number[], isSingle: boolean): Settlement<number | readonly number[]> {
    const late = lease.deadlineMs <= this.#stack.engine.clock.nowMs();
    lease.ended = { verb: "settle", amounts };
    this.#close(lease);
    this.#forgetInMemory(lease);
    this.#charge(lease, amounts);
    this.tally.settled++;
    if (late) this.tally.late++;
    const counted = countedOf(amounts, isSingle);
    return { counted, late, repeated: false, pending: false, degraded: this.isAtOrigin };
  }

  /** Counts what the origin will not count. */
  #charge(lease: Lease, amounts: readonly number[]): void {
    const { engine } = this.#stack;
    lease.items.forEach(({ key, limit }, i) => {
      if (amounts[i] === 0) return;
      const scope = engine.scopes.find(key.workspace, key.namespace, key.durationMs);
      charge(engine, scope, key.identifier, limit, amounts[i]!);
    });
    this.#stack.wake();
  }

  async #settleAtOrigin(
    lease: Lease | null,
    id: string,
    keys: readonly Key[],
    amounts: readonly number[],
    isSingle: boolean,
  ): Promise<Settlement<number | readonly number[]>> {
    const byKey = [...amountsByKey(keys, amounts).values()];
    const answers = await this.#free(
      byKey.map(({ key, amount }) => ({ key, id, verb: "settle", actual: amount, ttlMs: 0 })),
    );
    const isUnknown = answers.every((answer) => answer?.code === "unknown");
    // It was sent once and nobody else has the token, so nobody has counted it and nobody will.
    if (isUnknown && lease !== null && !lease.isGiven) {
      this.#charge(lease, amounts);
      this.tally.settled++;
      return { counted: countedOf(amounts, isSingle), late: false, repeated: false, pending: false, degraded: true };
    }
    answers.forEach((answer, i) => {
      if (answer !== null) checkSettled(answer, byKey[i]!.amount);
    });
    const has = (...codes: readonly FreedItem["code"][]) =>
      answers.some((answer) => answer !== null && codes.includes(answer.code));
    const pending = answers.includes(null);
    this.tally.settled++;
    if (has("late")) this.tally.late++;
    const counted = countedOf(amounts, isSingle);
    return { counted, late: has("late"), repeated: has("settled-before"), pending, degraded: pending };
  }

  #settledBefore(lease: Lease, amounts: readonly number[], isSingle: boolean): Settlement<number | readonly number[]> {
    const { ended } = lease;
    if (ended?.verb !== "settle") throw new SluiceError("RL_RESERVATION_ENDED", "reservation", "released before");
    if (ended.amounts.some((amount, i) => amount !== amounts[i])) {
      throw new SluiceError("RL_RESERVATION_ENDED", "reservation", `settled before with ${ended.amounts.join(", ")}`);
    }
    const counted = countedOf(amounts, isSingle);
    return { counted, late: false, repeated: true, pending: false, degraded: false };
  }

  async #releaseAtOrigin(id: string, keys: readonly Key[], isOwn: boolean): Promise<void> {
    for (const answer of await this.#free(freesOf(id, keys, "release"))) {
      if (answer?.code === "settled-before") {
        throw new SluiceError("RL_RESERVATION_ENDED", "reservation", `settled before with ${answer.counted}`);
      }
      // The origin forgot it: nothing is held, which is what was asked for. A token that was never held is a mistake.
      if (answer?.code === "unknown" && !isOwn) throw new SluiceError("RL_RESERVATION_UNKNOWN", "id", id);
    }
  }

  async #renewAtOrigin(id: string, keys: readonly Key[], ttlMs: number): Promise<number> {
    const { client } = this.#holds;
    const answers = await client.free(freesOf(id, keys, "renew", ttlMs));
    if (answers === "refused") return 0;
    for (const answer of answers) if (answer !== null) checkRenewed(answer, id);
    const known = answers.flatMap((answer) => (answer === null ? [] : [client.toLocalMs(answer.deadlineMs)]));
    return known.length < answers.length ? 0 : Math.min(...known);
  }

  #free(items: readonly FreeItem[]): Promise<readonly (FreedItem | null)[]> {
    return this.#holds.pending.send(items);
  }

  get #holds() {
    const holds = this.#stack.regional?.holds ?? null;
    if (holds === null) throw new SluiceError("RL_RESERVATION_ELSEWHERE", "id", "an id of another process");
    return holds;
  }

  async #read(token: unknown): Promise<ReservationToken> {
    const read = readToken(token);
    // Every part of a key is checked before it is used.
    const { engine } = this.#stack;
    for (const { workspace, namespace, durationMs, identifier } of read.keys) {
      engine.locate(engine.scopes.find(workspace, namespace, durationMs), identifier);
    }
    if (read.place.startsWith("m")) {
      const lease = this.#leases.get(read.id);
      if (read.place !== this.#self)
        throw new SluiceError("RL_RESERVATION_ELSEWHERE", "id", "an id of another process");
      if (lease === undefined) throw new SluiceError("RL_RESERVATION_UNKNOWN", "id", read.id);
      return read;
    }
    await this.#learnOrigin();
    if (this.#originId !== "" && read.place !== "" && read.place !== this.#originId) {
      throw new SluiceError("RL_RESERVATION_ELSEWHERE", "id", "an id of another origin");
    }
    return read;
  }

  /** Drawn when the first token is: a limiter that reserves nothing draws nothing. */
  #selfId(): string {
    if (this.#self === "") this.#self = `m${drawId(this.#random)}`;
    return this.#self;
  }

  /** Asked once: it does not change while the process lives. */
  async #learnOrigin(): Promise<void> {
    if (this.#originId !== "" || this.#identity === null) return;
    this.#originId = (await this.#identity.readOnce().catch(() => null)) ?? "";
  }

  #close(lease: Lease): void {
    this.#renewed.delete(lease);
    if (this.#leases.has(lease.id)) this.#open--;
  }

  /** Forgets what ended or expired long ago. */
  #sweep(): void {
    const nowMs = this.#clock.wallMs();
    for (const [id, lease] of this.#leases) {
      const keptMs = lease.ended === null ? (lease.place === "memory" ? EXPIRED_KEPT_MS : 0) : ENDED_KEPT_MS;
      if (lease.deadlineMs + keptMs > nowMs) continue;
      this.#leases.delete(id);
      if (lease.ended === null) this.#open--;
    }
  }

  #forgetInMemory(lease: Lease): void {
    for (const item of lease.items) this.#stack.engine.held?.removeLocal(item, lease.id);
  }

  #holdInMemory(lease: Lease): void {
    const byKey = amountsByKey(lease.keys, lease.costs);
    for (const item of lease.items) {
      this.#stack.engine.held?.addLocal(item, lease.id, byKey.get(encodeKey(item.key))!.amount, lease.deadlineMs);
    }
  }

  #renewLater(lease: Lease): void {
    this.#renewed.set(lease, this.#clock.monoMs() + lease.ttlMs / RENEWAL_PARTS);
    this.#arm();
  }

  #arm(): void {
    if (this.#isClosed || this.#renewed.size === 0) return;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const one of this.#renewed.values()) dueMs = Math.min(dueMs, one);
    this.#alarm.clear();
    this.#alarm.set(() => void this.#renewOnce(), Math.max(RENEWAL_MIN_MS, dueMs - this.#clock.monoMs()));
  }

  async #renewOnce(): Promise<void> {
    const nowMs = this.#clock.monoMs();
    const due = [...this.#renewed].filter(([, dueMs]) => dueMs <= nowMs + RENEWAL_MIN_MS).slice(0, RENEWALS_MAX);
    for (const [lease] of due) this.#renewed.set(lease, nowMs + lease.ttlMs / RENEWAL_PARTS);
    await Promise.all(
      due.map(([lease]) =>
        this.renew(lease).catch(() => {
          if (lease.ended !== null) return;
          this.tally.lost++;
          this.#renewed.delete(lease);
          lease.lose();
        }),
      ),
    );
    this.#arm();
  }
}

/** How a reservation was answered. */
interface Reserved {
  readonly codes: readonly ReserveCode[];
  readonly lease: Lease | null;
  readonly source: Decision["source"];
  readonly isDegraded: boolean;
}

const REFUSED = { lease: null, source: "local", isDegraded: false } as const;

const CODES: Readonly<Record<HeldItem["code"], ReserveCode>> = {
  granted: "held",
  again: "held",
  fits: "fits",
  limit: "limit",
  reserved: "reserved",
  full: "holds",
  ended: "reserved",
  looked: "fits",
};

/** What may have been granted although the reservation as a whole was not. */
function toCancel(outcome: HoldOutcome, items: readonly ReserveItem[]): readonly Key[] {
  if (outcome.kind === "held" || (outcome.kind === "unavailable" && !outcome.mayBeHeld)) return [];
  if (outcome.kind !== "refused") return items.map(({ key }) => key);
  return items.filter((_, i) => CODES[outcome.items[i]!.code] === "held").map(({ key }) => key);
}

/** One item per distinct key. */
function freesOf(id: string, keys: readonly Key[], verb: FreeVerb, ttlMs = 0): readonly FreeItem[] {
  const distinct = new Map(keys.map((key) => [encodeKey(key), key]));
  return [...distinct.values()].map((key) => ({ key, id, verb, actual: 0, ttlMs }));
}

function amountsOf(given: number | readonly number[], count: number, field = "actual"): readonly number[] {
  const amounts = Array.isArray(given) ? given : [given];
  if (amounts.length !== count || count > RESERVE_MAX) throw new SluiceError("RL_AMOUNTS_INVALID", field, given);
  amounts.forEach((amount, i) => {
    checkCost(amount, Array.isArray(given) ? `${field}[${i}]` : field);
  });
  return amounts as readonly number[];
}

function countedOf(amounts: readonly number[], isSingle: boolean): number | readonly number[] {
  return isSingle ? amounts[0]! : amounts;
}

function checkSettled({ code, counted }: FreedItem, amount: number): void {
  if (code === "unknown") throw new SluiceError("RL_RESERVATION_UNKNOWN", "id", "an id that the origin does not know");
  if (code === "released-before") throw new SluiceError("RL_RESERVATION_ENDED", "reservation", "released before");
  if (code === "settled-before" && counted !== amount) {
    throw new SluiceError("RL_RESERVATION_ENDED", "reservation", `settled before with ${counted}`);
  }
}

function checkRenewed({ code }: FreedItem, id: string): void {
  if (code === "renewed") return;
  if (code === "unknown") throw new SluiceError("RL_RESERVATION_UNKNOWN", "id", id);
  throw new SluiceError("RL_RESERVATION_ENDED", "reservation", code === "expired" ? "expired" : code.replace("-", " "));
}
