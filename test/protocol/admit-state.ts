/**
 * A state of the `admit` model (admit-model.ts): what is where in its bytes, and what can be read from them.
 *
 * A state is a row of bytes; the constants in capitals say where each part of it begins. `p` is a process, `r` a request, `c` a call, `f` a
 * flush, `w` and `v` a window, `g` a generation of writer ids. Nothing here changes a state: admit-rules.ts does.
 */
import type { Bytes } from "./explorer.ts";

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

export const NEW = 0,
  WAITING = 1,
  CALLED = 2,
  ALLOWED = 3,
  DEGRADED = 4,
  DENIED = 5;
export const UNUSED = 0,
  FLYING = 1,
  ENDED = 2;
export const NO_REPLY = 0,
  DONE = 1,
  REPEATED = 2;
export const PROBLEMS = [
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

/** A space whose every choice is made. */
export type WholeSpace = Required<AdmitSpace>;

export function wholeSpace(space: AdmitSpace): WholeSpace {
  return {
    limit: 2,
    repeats: "no",
    loss: "no",
    crashes: 0,
    evictions: 0,
    rollover: false,
    charges: 0,
    flushes: 2,
    stale: true,
    confirm: "never",
    mistakes: {},
    named: false,
    ...space,
  };
}

export type AdmitState = ReturnType<typeof admitState>;

export function admitState({ costs, loss, evictions, rollover, flushes }: WholeSpace) {
  // How many: processes, requests per process, windows, writer ids per process, calls per process, flushes per process.
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
  // The origin, in one block, because a snapshot is a copy of it: the components, and a bit for each beat that it holds.
  const COMP = place(P * G * W),
    BEATS = place(P),
    ORIGIN = at;
  // The snapshot, whether it was taken, whether the origin has lost something, and how often its connection began again.
  const SNAP = loss === "rollback" ? place(ORIGIN) : -1,
    SNAPPED = place(1),
    LOST = place(1),
    LIFE = place(1);
  // What is broken (PROBLEMS), the current window, one more than the bound of strict mode (255: not held to it), and the troubles left.
  const BAD = place(1),
    NOW = place(1),
    STRICT0 = place(1),
    B_CRASH = place(1),
    B_EVICT = place(1),
    B_CHARGE = place(1);
  // Per process: whether it lives; what became of each request, and the calls of one window that carried it.
  const ALIVE = place(P),
    REQ = place(P * R),
    SENT = place(P * R);
  // Its memory of the key: whether it has a slot, with which writer id and window; own, others and what is replayed of each cell; whether it is fresh
  // and strict; and one more than the call that is under way.
  const SLOT = place(P),
    GEN = place(P),
    SEQ = place(P),
    OWN = place(P * W),
    OTH = place(P * W),
    REP = place(P * W),
    FRESH = place(P),
    STRICT = place(P),
    CUR = place(P);
  // Its beats that were confirmed; what a call showed the origin to have, one more than the life it did so in; and how many flushes were sent.
  const CONF = place(P),
    PEND = place(P * W),
    PLIFE = place(P),
    NFLUSH = place(P);
  // Truth: what was answered with an allow, per writer and cell; and of it what was not charged, per process and cell.
  const ANS = place(P * G * W),
    MINE = place(P * W);
  // Per call: whether it is under way; its requests, a bit each; the totals, writer id and window that it was sent with; copies on their way to the
  // origin (2: one that was resent); and what the origin admitted for it until it ends.
  const CS = place(P * C),
    CM = place(P * C),
    CB = place(P * C * W),
    CG = place(P * C),
    CW = place(P * C),
    CQ = place(P * C),
    CA = place(P * C);
  // Its reply: which kind; the requests admitted; the counts of others; the component; the origin's life.
  const RP = place(P * C),
    RM = place(P * C),
    RO = place(P * C * W),
    RC = place(P * C),
    RL = place(P * C);
  // Per flush: whether it is on its way; its totals and writer id; whether its answer is still waited for; the notes of admits that it confirms, and
  // their life.
  const FS = place(P * F),
    FT = place(P * F * W),
    FG = place(P * F),
    FK = place(P * F),
    FP = place(P * F * W),
    FPL = place(P * F);
  // Its reply: whether there is one; whether it shows a loss; the counts of others; one more than the origin's life.
  const FR = place(P * F),
    FRL = place(P * F),
    FRO = place(P * F * W),
    FRLIFE = place(P * F);
  const SIZE = at;
  const comp = (p: number, g: number, w: number) => COMP + (p * G + g) * W + w,
    ans = (p: number, g: number, w: number) => ANS + (p * G + g) * W + w;
  const cell = (o: number, p: number, w: number) => o + p * W + w;
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

  return {
    BEATS,
    SNAPPED,
    LOST,
    LIFE,
    BAD,
    NOW,
    STRICT0,
    B_CRASH,
    B_EVICT,
    B_CHARGE,
    ALIVE,
    REQ,
    SENT,
    SLOT,
    GEN,
    SEQ,
    OWN,
    OTH,
    REP,
    FRESH,
    STRICT,
    CUR,
    CONF,
    PEND,
    PLIFE,
    NFLUSH,
    MINE,
    CS,
    CM,
    CB,
    CG,
    CW,
    CQ,
    CA,
    RP,
    RM,
    RO,
    RC,
    RL,
    FS,
    FT,
    FG,
    FK,
    FP,
    FPL,
    FR,
    FRL,
    FRO,
    FRLIFE,
    SNAP,
    ORIGIN,
    SIZE,
    P,
    R,
    W,
    G,
    C,
    F,
    comp,
    ans,
    cell,
    costOf,
    totalOf,
    sum,
    accepted,
    truth,
    effective,
    truthOf,
    viewOf,
    known,
  };
}
