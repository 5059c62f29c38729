/**
 * The rules of `admit` as the model has them (admit-model.ts): what a process does with its requests and its call, as origin/admission.ts does,
 * and what the origin does with a call, as admit.lua does. A planted mistake changes a rule in one place.
 */
import {
  type AdmitState,
  ALLOWED,
  CALLED,
  DEGRADED,
  DENIED,
  DONE,
  ENDED,
  FLYING,
  REPEATED,
  UNUSED,
  WAITING,
  type WholeSpace,
} from "./admit-state.ts";
import type { Bytes } from "./explorer.ts";

interface Executed {
  reply: number;
  readonly admitted: number;
}

interface Accepting {
  readonly isCharge?: boolean;
  readonly g?: number;
  readonly slot?: boolean;
}

export type AdmitRules = ReturnType<typeof admitRules>;

export function admitRules({ limit, confirm, mistakes: m }: WholeSpace, state: AdmitState) {
  const {
    LIFE,
    BAD,
    NOW,
    STRICT0,
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
    PEND,
    PLIFE,
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
    P,
    R,
    W,
    C,
    comp,
    ans,
    cell,
    costOf,
    totalOf,
    sum,
    truth,
    effective,
    truthOf,
    viewOf,
    known,
  } = state;
  const bad = (s: Bytes, code: number) => {
    if (s[BAD]! === 0) s[BAD]! = code;
  };
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

  return { claim, rotate, accept, degrade, deny, watch, pump, execute, answer, tidy, giveUp, hear };
}
