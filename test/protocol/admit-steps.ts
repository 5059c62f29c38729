/**
 * What a process of the `admit` model can meet next (admit-model.ts): one step per thing that can happen to its calls, its flushes, its requests and
 * itself. The rules that a step follows are in admit-rules.ts.
 */
import type { AdmitRules } from "./admit-rules.ts";
import {
  type AdmitState,
  ALLOWED,
  DONE,
  ENDED,
  FLYING,
  NEW,
  NO_REPLY,
  REPEATED,
  WAITING,
  type WholeSpace,
} from "./admit-state.ts";
import type { Bytes } from "./explorer.ts";

/** Emits the state that a change makes. The label says what happened. */
export type Step = (label: () => string, change: (s: Bytes) => void) => void;

export function processSteps(
  space: WholeSpace,
  state: AdmitState,
  rules: AdmitRules,
): (a: Bytes, p: number, step: Step) => void {
  const { costs, limit, repeats, loss, stale, confirm, mistakes: m } = space;
  const {
    BEATS,
    LIFE,
    NOW,
    B_CRASH,
    B_EVICT,
    B_CHARGE,
    ALIVE,
    REQ,
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
    CS,
    CM,
    CB,
    CW,
    CQ,
    RP,
    RM,
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
    R,
    W,
    C,
    F,
    comp,
    cell,
    costOf,
    totalOf,
    sum,
    known,
  } = state;
  const { claim, rotate, accept, degrade, deny, pump, execute, answer, tidy, giveUp, hear } = rules;

  /** What can happen to the calls of a process: executed, answered, given up. */
  function calls(a: Bytes, p: number, step: Step): void {
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
  }
  /** What can happen to its flushes: executed, answered. */
  function flushes(a: Bytes, p: number, step: Step): void {
    const isAlive = a[ALIVE + p]! === 1;
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
                s[k]! = m.assigns && s[FT + i * W + v]! > 0 ? s[FT + i * W + v]! : Math.max(s[k]!, s[FT + i * W + v]!);
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
  }
  /** Its next request arrives. */
  function arrivals(a: Bytes, p: number, step: Step): void {
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
  }
  /** What it knows gets too old. */
  function ages(a: Bytes, p: number, step: Step): void {
    if (a[FRESH + p]! === 1 && stale && a[CUR + p]! === 0)
      step(
        () => `process ${p}: the key is stale`,
        (s: Bytes) => {
          s[FRESH + p]! = 0;
        },
      );
  }
  /** It sends a flush. */
  function sends(a: Bytes, p: number, step: Step): void {
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
  }
  /** It charges, dies, or evicts the key. */
  function troubles(a: Bytes, p: number, step: Step): void {
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
  return (a, p, step) => {
    calls(a, p, step);
    flushes(a, p, step);
    if (a[ALIVE + p]! !== 1) return;
    arrivals(a, p, step);
    ages(a, p, step);
    sends(a, p, step);
    troubles(a, p, step);
  };
}
