/**
 * A model of `admit` (docs/decisions/0022): every order of events that the rules permit is explored, and so are planted mistakes.
 *
 * Two processes, one key and one origin. Requests arrive in order at each process, wait, are sent in calls, and are decided by the rules of
 * origin/admission.ts. Calls and flushes are executed late, in any order, never, or more than once; replies are lost or late; the deadline of a call
 * passes at any time; keys become stale; processes die, evict the key (and count on under a new writer id) and charge; the window ends (half of the
 * previous cell counts then); the origin is emptied, or goes back to a state that it had at any earlier time. A heartbeat is the set
 * of beats that the origin holds: a loss shows if one is missing that was confirmed.
 *
 * The truth is what was answered with an allow, plus what the origin admitted for calls that have not ended or whose process died. Not in the
 * model: other regions, clocks that differ, batches (a charge counts at once, as they do), a weight that falls during a call.
 *
 * A state is a row of bytes; the constants in capitals say where each part of it begins. `p` is a process, `r` a request, `c` a call, `f` a
 * flush, `w` and `v` a window, `g` a generation of writer ids.
 */
import type { Bytes, Emit, Model } from "./explorer.ts";

/** A deliberate mistake in the rules. */
export type Mistake =
  | "answersOfBoth"
  | "assigns"
  | "countsLater"
  | "deniedAsSent"
  | "evictsInFlight"
  | "lateApplied"
  | "lostByMemory"
  | "lostDenied"
  | "lostFirstOnly"
  | "lostUnderNewWriter"
  | "memoryBesideCall"
  | "oldWriter"
  | "ownFirst"
  | "ownIsComponent"
  | "relative"
  | "resentCounts"
  | "reversed"
  | "rotated"
  | "sendsAll"
  | "strictShared"
  | "targetAlways";

export interface AdmitSpace {
  /** Per process, the costs of its requests in order of arrival. */
  readonly costs: readonly (readonly number[])[];
  readonly limit?: number;
  /** `unanswered`: a driver that resends while no answer has arrived. `any`: the network repeats at any time. */
  readonly repeats?: "no" | "unanswered" | "any";
  /** `rollback`: to a state that the origin had at some earlier time. */
  readonly loss?: "no" | "emptied" | "rollback";
  readonly crashes?: number;
  readonly evictions?: number;
  readonly rollover?: boolean;
  readonly charges?: number;
  /** Per process. */
  readonly flushes?: number;
  readonly stale?: boolean;
  /** How an answered admit counts as replayed: never, by the next beat of the same life, or (mistakes) by its answer or by any beat. */
  readonly confirm?: "never" | "life" | "answer" | "beat";
  readonly mistakes?: Readonly<Partial<Record<Mistake, true>>>;
  /** Steps have names: slower, for a counterexample. */
  readonly named?: boolean;
}

interface Executed {
  reply: number;
  readonly admitted: number;
}

interface Accepting {
  readonly isCharge?: boolean;
  readonly g?: number;
  readonly slot?: boolean;
}

const NEW = 0,
  WAITING = 1,
  CALLED = 2,
  ALLOWED = 3,
  DEGRADED = 4,
  DENIED = 5;
const UNUSED = 0,
  FLYING = 1,
  ENDED = 2;
const NO_REPLY = 0,
  DONE = 1,
  REPEATED = 2;
const PROBLEMS = [
  null,
  "A1: a component at the origin exceeds what its writer accepted",
  "A2: a view exceeds the true total",
  "A2: a request was denied although it fits the true total",
  "A3: the origin admitted above the limit",
  "A3: both processes are strict, and together they exceed the limit",
  "A3: a strict allow that the origin has not counted",
  "A4: a total that counts as confirmed is not at the origin, and no heartbeat shows it",
  "A5: a request is sent in two calls of one window",
  "A6: a process accepted more than the limit by its own count",
  "A7: of one call, a later request was admitted and an earlier one of no higher cost was denied",
  "A4: a process's own total is not what it accepted",
];

export function admitModel({
  costs,
  limit = 2,
  repeats = "no",
  loss = "no",
  crashes = 0,
  evictions = 0,
  rollover = false,
  charges = 0,
  flushes = 2,
  stale = true,
  confirm = "never",
  mistakes: m = {},
  named = false,
}: AdmitSpace): Model {
  const P = costs.length,
    R = Math.max(...costs.map((c) => c.length)),
    W = rollover ? 2 : 1,
    G = evictions > 0 ? 2 : 1,
    C = rollover ? 2 * R : R,
    F = flushes;
  let at = 0;
  const place = (n: number) => {
    const o = at;
    at += n;
    return o;
  };
  // The origin, in one block: a snapshot is a copy of it.
  const COMP = place(P * G * W),
    BEATS = place(P),
    ORIGIN = at;
  const SNAP = loss === "rollback" ? place(ORIGIN) : -1,
    SNAPPED = place(1),
    LOST = place(1),
    LIFE = place(1);
  const BAD = place(1),
    NOW = place(1),
    STRICT0 = place(1),
    B_CRASH = place(1),
    B_EVICT = place(1),
    B_CHARGE = place(1);
  const ALIVE = place(P),
    REQ = place(P * R),
    SENT = place(P * R);
  const SLOT = place(P),
    GEN = place(P),
    SEQ = place(P),
    OWN = place(P * W),
    OTH = place(P * W),
    REP = place(P * W),
    FRESH = place(P),
    STRICT = place(P),
    CUR = place(P);
  const CONF = place(P),
    PEND = place(P * W),
    PLIFE = place(P),
    NFLUSH = place(P);
  // Truth: what was answered with an allow, per writer and cell; and of it what was not charged, per process and cell.
  const ANS = place(P * G * W),
    MINE = place(P * W);
  const CS = place(P * C),
    CM = place(P * C),
    CB = place(P * C * W),
    CG = place(P * C),
    CW = place(P * C),
    CQ = place(P * C),
    CA = place(P * C);
  const RP = place(P * C),
    RM = place(P * C),
    RO = place(P * C * W),
    RC = place(P * C),
    RL = place(P * C);
  const FS = place(P * F),
    FT = place(P * F * W),
    FG = place(P * F),
    FK = place(P * F),
    FP = place(P * F * W),
    FPL = place(P * F);
  const FR = place(P * F),
    FRL = place(P * F),
    FRO = place(P * F * W),
    FRLIFE = place(P * F);
  const SIZE = at;
  const scratch = new Uint8Array(SIZE);
  const comp = (p: number, g: number, w: number) => COMP + (p * G + g) * W + w,
    ans = (p: number, g: number, w: number) => ANS + (p * G + g) * W + w;
  const cell = (o: number, p: number, w: number) => o + p * W + w;
  const bad = (s: Bytes, code: number) => {
    if (s[BAD]! === 0) s[BAD]! = code;
  };
  const costOf = (p: number, r: number) => costs[p]![r]!;
  const totalOf = (p: number, mask: number) => {
    let t = 0;
    for (let r = 0; r < R; r++) if (mask & (1 << r)) t += costOf(p, r);
    return t;
  };
  const sum = (s: Bytes, w: number) => {
    let t = 0;
    for (let p = 0; p < P; p++) for (let g = 0; g < G; g++) t += s[comp(p, g, w)]!;
    return t;
  };
  /** The true total of a cell: all that was answered with an allow, and what the origin admitted for calls that have not ended. */
  const accepted = (s: Bytes, p: number, g: number, w: number) => {
    let t = s[ans(p, g, w)]!;
    for (let c = 0; c < C; c++) {
      const i = p * C + c;
      if (s[CS + i]! === FLYING && s[CG + i]! === g && s[CW + i]! === w) t += s[CA + i]!;
    }
    return t;
  };
  const truth = (s: Bytes, w: number) => {
    let t = 0;
    for (let p = 0; p < P; p++) for (let g = 0; g < G; g++) t += accepted(s, p, g, w);
    return t;
  };
  /** The window formula: half of the previous cell, in the second window. */
  const effective = (current: number, previous: number, w: number) =>
    w === 0 ? current : current + Math.floor(previous / 2);
  const truthOf = (s: Bytes, w: number) => effective(truth(s, w), w === 0 ? 0 : truth(s, 0), w);
  const viewCell = (s: Bytes, p: number, w: number) =>
    w <= s[SEQ + p]! ? s[cell(OWN, p, w)]! + s[cell(OTH, p, w)]! : 0;
  const viewOf = (s: Bytes, p: number, w: number) => effective(viewCell(s, p, w), w === 0 ? 0 : viewCell(s, p, 0), w);
  const known = (s: Bytes, p: number) => viewOf(s, p, s[NOW]!);

  function claim(s: Bytes, p: number): void {
    if (s[SLOT + p]! === 1) return;
    s[SLOT + p]! = 1;
    s[SEQ + p]! = s[NOW]!;
  }
  function rotate(s: Bytes, p: number): void {
    if (s[SEQ + p]! < s[NOW]!) {
      s[SEQ + p]! = s[NOW]!;
      s[FRESH + p]! = 0;
    }
  }

  /** Counts accepted cost under the slot's writer, and in the truth under the writer and cell it was accepted for. */
  function accept(
    s: Bytes,
    p: number,
    w: number,
    cost: number,
    { isCharge = false, g = s[GEN + p]!, slot = true }: Accepting = {},
  ): void {
    if (slot) s[cell(OWN, p, w)]! += cost;
    s[ans(p, g, w)]! += cost;
    if (!isCharge) {
      s[cell(MINE, p, w)]! += cost;
      if (s[cell(MINE, p, w)]! > limit) bad(s, 9);
    }
  }
  function degrade(s: Bytes): void {
    s[STRICT0]! = 255;
  }
  function deny(s: Bytes, p: number, r: number, w: number): void {
    if (truthOf(s, w) + costOf(p, r) <= limit) bad(s, 3);
    s[REQ + p * R + r]! = DENIED;
    s[STRICT + p]! = 1;
  }
  /** From the moment on at which both are strict: bound by the larger of the truth and the limit, and by what is not at the origin yet. */
  function watch(s: Bytes): void {
    if (W > 1 || s[STRICT0]! === 255 || !s.subarray(STRICT, STRICT + P).every((x) => x === 1)) return;
    const t = truth(s, 0);
    if (s[STRICT0]! === 0) s[STRICT0]! = 1 + Math.max(t, limit + Math.max(0, t - sum(s, 0)));
    else if (t > s[STRICT0]! - 1) bad(s, 5);
  }

  /** Decides what waits at a process, in order, as far as memory can; sends the rest that fits together in one call. */
  function pump(s: Bytes, p: number): void {
    if (s[ALIVE + p]! === 0 || s[CUR + p]! !== 0) return;
    const w = s[NOW]!;
    let mask = 0,
      together = 0,
      isOpen = true;
    for (let r = 0; r < R; r++) {
      const i = p * R + r;
      if (s[REQ + i]! !== WAITING) continue;
      const view = known(s, p),
        cost = costOf(p, r);
      if (view + cost > limit) {
        deny(s, p, r, w);
        continue;
      }
      if (s[FRESH + p]! === 1 && (s[STRICT + p]! === 0 || m.strictShared) && mask === 0) {
        claim(s, p);
        rotate(s, p);
        accept(s, p, w, cost);
        s[REQ + i]! = ALLOWED;
        continue;
      }
      // In order of arrival, and only as many as fit memory together: if no answer comes, all of them are accepted.
      if (isOpen && (view + together + cost <= limit || m.sendsAll)) {
        mask |= 1 << r;
        together += cost;
      } else isOpen = false;
    }
    if (mask === 0) return;
    claim(s, p);
    rotate(s, p);
    let c = 0;
    while (s[CS + p * C + c]! !== UNUSED) c++;
    const i = p * C + c;
    s[CS + i]! = FLYING;
    s[CM + i]! = mask;
    s[CG + i]! = s[GEN + p]!;
    s[CW + i]! = w;
    s[CQ + i]! = 1;
    s[CUR + p]! = c + 1;
    for (let v = 0; v < W; v++) s[CB + i * W + v]! = v <= w ? s[cell(OWN, p, v)]! : 0;
    for (let r = 0; r < R; r++)
      if (mask & (1 << r)) {
        s[REQ + p * R + r]! = CALLED;
        if (s[SENT + p * R + r]!++ > 0) bad(s, 8);
        if (m.ownFirst) s[cell(OWN, p, w)]! += costOf(p, r);
      }
  }

  /** admit.lua. */
  function execute(s: Bytes, p: number, c: number): Executed {
    const i = p * C + c,
      g = s[CG + i]!,
      w = s[CW + i]!,
      mask = s[CM + i]!;
    for (let v = 0; v < w; v++) s[comp(p, g, v)]! = Math.max(s[comp(p, g, v)]!, s[CB + i * W + v]!);
    const k = comp(p, g, w),
      base = s[CB + i * W + w]!;
    let reply = DONE,
      admitted = 0,
      running = Math.max(s[k]!, base);
    if (s[k]! > base && !m.relative && !m.targetAlways) reply = REPEATED;
    else {
      s[k]! = Math.max(s[k]!, base);
      const before = s[k]!,
        others = effective(sum(s, w), w === 0 ? 0 : sum(s, 0), w) - before;
      if (m.targetAlways) running = base;
      const order = [...Array(R).keys()].filter((r) => mask & (1 << r));
      if (m.reversed) order.reverse();
      for (const r of order) {
        const next = running + costOf(p, r);
        if (m.targetAlways && next <= s[k]!) {
          admitted |= 1 << r;
          running = next;
          bad(s, 6);
          continue;
        }
        if (others + next <= limit) {
          admitted |= 1 << r;
          running = next;
        }
      }
      if (!m.countsLater) {
        if (admitted !== 0) s[k]! = Math.max(s[k]!, running);
        if (admitted !== 0 && effective(sum(s, w), w === 0 ? 0 : sum(s, 0), w) > limit) bad(s, 4);
      }
      for (const r of order)
        for (const q of order)
          if (q > r && admitted & (1 << q) && !(admitted & (1 << r)) && costOf(p, q) >= costOf(p, r)) bad(s, 10);
      if (s[CS + i]! === FLYING && !m.countsLater) s[CA + i]! = Math.max(s[CA + i]!, totalOf(p, admitted));
    }
    return { reply, admitted };
  }
  function answer(s: Bytes, p: number, c: number, { reply, admitted }: Executed): void {
    const i = p * C + c,
      g = s[CG + i]!,
      w = s[CW + i]!;
    s[RP + i]! = reply;
    s[RM + i]! = admitted;
    s[RC + i]! = s[comp(p, g, w)]!;
    s[RL + i]! = s[LIFE]!;
    for (let v = 0; v < W; v++) s[RO + i * W + v]! = v <= w ? sum(s, v) - s[comp(p, g, v)]! : 0;
  }
  function end(s: Bytes, p: number, c: number): void {
    const i = p * C + c;
    s[CS + i]! = ENDED;
    s[CA + i]! = 0;
    s[CUR + p]! = 0;
    if (!m.lateApplied) {
      s[RP + i]! = 0;
      s[RM + i]! = 0;
      s[RC + i]! = 0;
      s[RL + i]! = 0;
      s.fill(0, RO + i * W, RO + i * W + W);
    }
    tidy(s, i);
  }
  /** An ended call of which no message is left: nothing of it matters. */
  function tidy(s: Bytes, i: number): void {
    if (s[CS + i]! !== ENDED || s[CQ + i]! !== 0 || m.lateApplied) return;
    s[CM + i]! = 0;
    s[CG + i]! = 0;
    s[CW + i]! = 0;
    s.fill(0, CB + i * W, CB + i * W + W);
  }
  /** No answer, or one that does not say: all of the call is accepted, in the cell and under the writer it was sent with. */
  function giveUp(s: Bytes, p: number, c: number): void {
    const i = p * C + c,
      w = s[CW + i]!,
      mask = s[CM + i]!;
    degrade(s);
    let isFirst = true,
      left = m.lostByMemory ? limit - viewOf(s, p, w) : 255;
    const isMine = s[CG + i]! === s[GEN + p]! && s[SLOT + p]! === 1;
    for (let r = 0; r < R; r++)
      if (mask & (1 << r)) {
        const cost = costOf(p, r),
          at = p * R + r;
        s[CA + i]! = 0;
        if (m.lostDenied || (m.lostFirstOnly && !isFirst) || cost > left) {
          s[REQ + at]! = DENIED;
          continue;
        }
        isFirst = false;
        if (m.lostByMemory) left -= cost;
        s[REQ + at]! = DEGRADED;
        const to = m.rotated ? s[NOW]! : w;
        if (m.ownFirst) {
          s[ans(p, s[CG + i]!, w)]! += cost;
          s[cell(MINE, p, w)]! += cost;
          continue;
        }
        if (m.lostUnderNewWriter) accept(s, p, to, cost);
        else accept(s, p, to, cost, { g: s[CG + i]!, slot: isMine });
      }
    end(s, p, c);
    pump(s, p);
  }
  function hear(s: Bytes, p: number, c: number): void {
    const i = p * C + c,
      w = s[CW + i]!,
      mask = s[CM + i]!,
      admitted = s[RM + i]!;
    if (s[RP + i]! === REPEATED) {
      giveUp(s, p, c);
      return;
    }
    const isMine = (s[CG + i]! === s[GEN + p]! && s[SLOT + p]! === 1) || m.oldWriter === true;
    const to = m.rotated ? s[NOW]! : w;
    // Everything the call brought is merged before the requests behind it are decided.
    s[CA + i]! = 0;
    const ownBefore = s[cell(OWN, p, w)]!;
    for (let r = 0; r < R; r++)
      if (mask & (1 << r)) {
        const at = p * R + r,
          cost = costOf(p, r);
        if (admitted & (1 << r)) {
          s[REQ + at]! = ALLOWED;
          if (m.ownFirst) {
            s[ans(p, s[CG + i]!, w)]! += cost;
            s[cell(MINE, p, w)]! += cost;
          } else accept(s, p, to, cost, { g: s[CG + i]!, slot: isMine && !m.ownIsComponent });
        }
      }
    if (m.ownIsComponent && isMine) s[cell(OWN, p, w)]! = Math.max(ownBefore, s[RC + i]!);
    if (isMine && !m.oldWriter) {
      for (let v = 0; v <= w; v++) s[cell(OTH, p, v)]! = Math.max(s[cell(OTH, p, v)]!, s[RO + i * W + v]!);
      if (w === s[NOW]!) s[FRESH + p]! = 1;
      if (confirm === "answer") s[cell(REP, p, w)]! = Math.max(s[cell(REP, p, w)]!, s[RC + i]!);
      else if (confirm !== "never") {
        if (s[RC + i]! > s[cell(PEND, p, w)]!) {
          s[cell(PEND, p, w)]! = s[RC + i]!;
          s[PLIFE + p]! = s[RL + i]! + 1;
        }
      }
    }
    // What was not admitted is decided by memory, as of now: it has just merged the sums, and denies unless a new window has begun.
    for (let r = 0; r < R; r++)
      if (mask & (1 << r) && !(admitted & (1 << r))) {
        if (m.deniedAsSent || known(s, p) + costOf(p, r) > limit) {
          deny(s, p, r, s[NOW]!);
          continue;
        }
        if (s[NOW]! === w) bad(s, 8);
        s[REQ + p * R + r]! = WAITING;
        s[SENT + p * R + r]! = 0;
      }
    end(s, p, c);
    pump(s, p);
  }

  const check = (s: Bytes): string | null => {
    if (s[BAD]! !== 0) return PROBLEMS[s[BAD]!]!;
    for (let p = 0; p < P; p++) {
      for (let w = 0; w < W; w++) {
        for (let g = 0; g < G; g++) if (s[comp(p, g, w)]! > accepted(s, p, g, w)) return PROBLEMS[1]!;
        if (s[ALIVE + p]! === 1 && s[cell(OWN, p, w)]! + s[cell(OTH, p, w)]! > truth(s, w) && !m.ownFirst)
          return PROBLEMS[2]!;
        if (s[ALIVE + p]! === 1 && s[cell(OWN, p, w)]! !== s[ans(p, s[GEN + p]!, w)]! && !m.ownFirst)
          return PROBLEMS[11]!;
        if (
          s[ALIVE + p]! === 0 ||
          s[CUR + p]! !== 0 ||
          s[SLOT + p]! === 0 ||
          (s[BEATS + p]! & s[CONF + p]!) !== s[CONF + p]!
        )
          continue;
        // What the next beat will confirm is at the origin too.
        const isPending = confirm === "life" && s[PLIFE + p]! === s[LIFE]! + 1;
        const believed = Math.max(s[cell(REP, p, w)]!, isPending ? s[cell(PEND, p, w)]! : 0);
        if (s[comp(p, s[GEN + p]!, w)]! < Math.min(believed, s[cell(OWN, p, w)]!)) return PROBLEMS[7]!;
      }
    }
    return null;
  };

  return {
    size: SIZE,
    initial(): Bytes[] {
      const s = new Uint8Array(SIZE);
      s.fill(1, ALIVE, ALIVE + P);
      s[B_CRASH]! = crashes;
      s[B_EVICT]! = evictions;
      s[B_CHARGE]! = charges;
      return [s];
    },
    check,
    next(a: Bytes, emit: Emit): void {
      const step = (label: () => string, change: (s: Bytes) => void) => {
        scratch.set(a);
        change(scratch);
        watch(scratch);
        emit(named ? label() : "", scratch);
      };
      for (let p = 0; p < P; p++) {
        const isAlive = a[ALIVE + p]! === 1;
        for (let c = 0; c < C; c++) {
          const i = p * C + c;
          // A request to the origin that is under way. With repetitions it stays under way.
          const mayRepeat = repeats === "any" || (repeats === "unanswered" && a[CS + i]! === FLYING);
          if (a[CQ + i]! > 0)
            for (const keeps of mayRepeat ? [true, false] : [false])
              for (const isAnswered of [true, false]) {
                if (!isAnswered && (a[CS + i]! !== FLYING || !isAlive)) continue;
                // A driver resends when its connection is closed: an answer to the first copy can no longer arrive.
                if (repeats === "unanswered" && keeps && isAnswered && !m.answersOfBoth) continue;
                step(
                  () =>
                    `the origin executes call ${p}.${c} (base ${a[CB + i * W + a[CW + i]!]!}, requests ${a[CM + i]!.toString(2)})${keeps ? "; a copy is still under way" : ""}${isAnswered ? "" : "; the reply is lost"}`,
                  (s: Bytes) => {
                    const done = execute(s, p, c);
                    // The answer to a copy that was resent does not say what the first copy did: it counts as none.
                    if (a[CQ + i]! === 2 && !m.resentCounts) done.reply = REPEATED;
                    if (isAnswered && ((s[CS + i]! === FLYING && isAlive) || m.lateApplied)) answer(s, p, c, done);
                    if (!keeps) s[CQ + i]! = 0;
                    else if (repeats === "unanswered") s[CQ + i]! = 2;
                    tidy(s, i);
                  },
                );
              }
          if (!isAlive) continue;
          if (a[CS + i]! === FLYING) {
            if (a[RP + i]! !== NO_REPLY)
              step(
                () =>
                  `process ${p} gets the answer to call ${p}.${c}: ${a[RP + i]! === REPEATED ? "repeated" : `admitted ${a[RM + i]!.toString(2)}`}`,
                (s: Bytes) => {
                  // What is unanswered is no longer resent once it is answered.
                  if (repeats === "unanswered") s[CQ + i]! = 0;
                  hear(s, p, c);
                },
              );
            step(
              () => `the deadline of call ${p}.${c} passes`,
              (s: Bytes) => {
                giveUp(s, p, c);
              },
            );
          } else if (m.lateApplied && a[CS + i]! === ENDED && a[RP + i]! === DONE) {
            step(
              () => `process ${p} gets a late answer to call ${p}.${c}`,
              (s: Bytes) => {
                s[cell(OWN, p, s[CW + i]!)]! += totalOf(p, s[RM + i]!);
                s[RP + i]! = 0;
              },
            );
          }
        }
        for (let f = 0; f < F; f++) {
          const i = p * F + f;
          if (a[FS + i]! === 1)
            for (const keeps of repeats === "any" ? [true, false] : [false])
              step(
                () =>
                  `the origin executes flush ${p}.${f} (totals ${[...a.subarray(FT + i * W, FT + i * W + W)]}, beat ${f})${keeps ? "; a copy is still under way" : ""}`,
                (s: Bytes) => {
                  const g = s[FG + i]!;
                  s[FRL + i]! = (s[BEATS + p]! & s[CONF + p]!) === s[CONF + p]! ? 0 : 1;
                  for (let v = 0; v < W; v++) {
                    const k = comp(p, g, v);
                    s[k]! =
                      m.assigns && s[FT + i * W + v]! > 0 ? s[FT + i * W + v]! : Math.max(s[k]!, s[FT + i * W + v]!);
                    s[FRO + i * W + v]! = sum(s, v) - s[k]!;
                  }
                  s[BEATS + p]! |= 1 << f;
                  s[FRLIFE + i]! = s[LIFE]! + 1;
                  s[FR + i]! = 1;
                  if (!keeps) s[FS + i]! = 2;
                },
              );
          if (isAlive && a[FR + i]! === 1 && a[FK + i]! === 1)
            step(
              () => `process ${p} gets the answer to flush ${p}.${f}${a[FRL + i]! ? ": something was lost" : ""}`,
              (s: Bytes) => {
                s[FR + i]! = 0;
                s[FK + i]! = 0;
                if (s[FRL + i]! === 1) {
                  s[CONF + p]! = 0;
                  for (let v = 0; v < W; v++) {
                    s[cell(REP, p, v)]! = 0;
                    s[cell(PEND, p, v)]! = 0;
                  }
                  s[PLIFE + p]! = 0;
                }
                s[CONF + p]! |= 1 << f;
                if (s[FG + i]! !== s[GEN + p]! || s[SLOT + p]! === 0) return;
                const isSameLife = confirm === "beat" || s[FPL + i]! === s[FRLIFE + i]!;
                for (let v = 0; v < W; v++) {
                  s[cell(OTH, p, v)]! = Math.max(s[cell(OTH, p, v)]!, s[FRO + i * W + v]!);
                  if (s[FRL + i]! === 0 && isSameLife)
                    s[cell(REP, p, v)]! = Math.max(s[cell(REP, p, v)]!, s[FP + i * W + v]!);
                  if (s[FRL + i]! === 0) s[cell(REP, p, v)]! = Math.max(s[cell(REP, p, v)]!, s[FT + i * W + v]!);
                  if (s[cell(PEND, p, v)]! <= s[FP + i * W + v]!) s[cell(PEND, p, v)]! = 0;
                }
                if (s.subarray(PEND + p * W, PEND + p * W + W).every((x) => x === 0)) s[PLIFE + p]! = 0;
                s[FRESH + p]! = 1;
              },
            );
        }
        if (!isAlive) continue;
        for (let r = 0; r < costs[p]!.length; r++) {
          if (a[REQ + p * R + r]! !== NEW) continue;
          step(
            () => `request ${p}.${r} of cost ${costOf(p, r)} arrives`,
            (s: Bytes) => {
              const view = known(s, p);
              if (view + costOf(p, r) > limit) {
                deny(s, p, r, s[NOW]!);
                return;
              }
              if (m.memoryBesideCall && s[CUR + p]! !== 0 && s[FRESH + p]! === 1 && s[STRICT + p]! === 0) {
                accept(s, p, s[NOW]!, costOf(p, r));
                s[REQ + p * R + r]! = ALLOWED;
                return;
              }
              s[REQ + p * R + r]! = WAITING;
              pump(s, p);
            },
          );
          break;
        }
        if (a[FRESH + p]! === 1 && stale && a[CUR + p]! === 0)
          step(
            () => `process ${p}: the key is stale`,
            (s: Bytes) => {
              s[FRESH + p]! = 0;
            },
          );
        if (a[SLOT + p]! === 1 && a[NFLUSH + p]! < F) {
          // Something is not confirmed; with confirmation by a beat, the beat alone goes out for what was admitted.
          let isDue = false;
          for (let v = 0; v < W; v++) isDue ||= a[cell(OWN, p, v)]! > a[cell(REP, p, v)]!;
          if (isDue || loss !== "no")
            step(
              () => `process ${p} sends flush ${p}.${a[NFLUSH + p]!}`,
              (s: Bytes) => {
                const f = s[NFLUSH + p]!++,
                  i = p * F + f;
                for (let e = 0; e < f; e++) {
                  s[FK + p * F + e]! = 0;
                  s[FR + p * F + e]! = 0;
                }
                s[FS + i]! = 1;
                s[FK + i]! = 1;
                s[FG + i]! = s[GEN + p]!;
                for (let v = 0; v < W; v++) {
                  const own = s[cell(OWN, p, v)]!,
                    pending = s[cell(PEND, p, v)]!;
                  s[FT + i * W + v]! = own > Math.max(s[cell(REP, p, v)]!, pending) ? own : 0;
                  s[FP + i * W + v]! = pending;
                }
                s[FPL + i]! = s[PLIFE + p]!;
              },
            );
        }
        if (a[B_CHARGE]! > 0)
          step(
            () => `process ${p} charges 1`,
            (s: Bytes) => {
              s[B_CHARGE]!--;
              degrade(s);
              claim(s, p);
              rotate(s, p);
              accept(s, p, s[NOW]!, 1, { isCharge: true });
            },
          );
        if (a[B_CRASH]! > 0)
          step(
            () => `process ${p} dies`,
            (s: Bytes) => {
              s[B_CRASH]!--;
              s[ALIVE + p]! = 0;
              degrade(s);
              s.fill(0, OWN + p * W, OWN + p * W + W);
              s.fill(0, OTH + p * W, OTH + p * W + W);
              s.fill(0, REP + p * W, REP + p * W + W);
              s.fill(0, PEND + p * W, PEND + p * W + W);
              s[FRESH + p]! = 0;
              s[CUR + p]! = 0;
              s[CONF + p]! = 0;
              s[PLIFE + p]! = 0;
              s[SLOT + p]! = 0;
            },
          );
        // A slot may go if nothing of it is unreplayed and no call is under way.
        let isPinned = a[CUR + p]! !== 0 && !m.evictsInFlight;
        for (let v = 0; v < W; v++) isPinned ||= a[cell(OWN, p, v)]! > a[cell(REP, p, v)]!;
        if (a[B_EVICT]! > 0 && a[SLOT + p]! === 1 && !isPinned)
          step(
            () => `process ${p} evicts the key`,
            (s: Bytes) => {
              s[B_EVICT]!--;
              s[GEN + p]!++;
              s[SLOT + p]! = 0;
              s[SEQ + p]! = s[NOW]!;
              s.fill(0, OWN + p * W, OWN + p * W + W);
              s.fill(0, OTH + p * W, OTH + p * W + W);
              s.fill(0, REP + p * W, REP + p * W + W);
              s.fill(0, PEND + p * W, PEND + p * W + W);
              s[FRESH + p]! = 0;
              s[PLIFE + p]! = 0;
              if (m.evictsInFlight) claim(s, p);
            },
          );
      }
      if (rollover && a[NOW]! === 0)
        step(
          () => "the window ends",
          (s: Bytes) => {
            s[NOW]! = 1;
            for (let p = 0; p < P; p++) if (s[CUR + p]! === 0 && s[SLOT + p]! === 1) rotate(s, p);
          },
        );
      if (loss === "emptied" && a[LOST]! === 0)
        step(
          () => "the origin is emptied",
          (s: Bytes) => {
            s[LOST]! = 1;
            s[LIFE]!++;
            degrade(s);
            s.fill(0, 0, ORIGIN);
          },
        );
      if (loss === "rollback" && a[SNAPPED]! === 0)
        step(
          () => "a snapshot of the origin is taken",
          (s: Bytes) => {
            s[SNAPPED]! = 1;
            s.copyWithin(SNAP, 0, ORIGIN);
          },
        );
      if (loss === "rollback" && a[SNAPPED]! === 1 && a[LOST]! === 0)
        step(
          () => "the origin goes back to the snapshot",
          (s: Bytes) => {
            s[LOST]! = 1;
            s[LIFE]!++;
            degrade(s);
            s.copyWithin(0, SNAP, SNAP + ORIGIN);
            s.fill(0, SNAP, SNAP + ORIGIN);
          },
        );
    },
  };
}
