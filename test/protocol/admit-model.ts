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
 * What a state is: admit-state.ts. The rules: admit-rules.ts. What can happen to a process: admit-steps.ts. Here: what must hold in every
 * state, and what can happen to the world.
 */
import { admitRules } from "./admit-rules.ts";
import { type AdmitSpace, admitState, PROBLEMS, wholeSpace } from "./admit-state.ts";
import { processSteps, type Step } from "./admit-steps.ts";
import type { Bytes, Emit, Model } from "./explorer.ts";

export function admitModel(chosen: AdmitSpace): Model {
  const space = wholeSpace(chosen);
  const state = admitState(space);
  const rules = admitRules(space, state);
  const ofProcess = processSteps(space, state, rules);
  const { loss, crashes, evictions, rollover, charges, confirm, named, mistakes: m } = space;
  const {
    BEATS,
    SNAPPED,
    LOST,
    LIFE,
    BAD,
    NOW,
    B_CRASH,
    B_EVICT,
    B_CHARGE,
    ALIVE,
    SLOT,
    GEN,
    OWN,
    OTH,
    REP,
    CUR,
    CONF,
    PEND,
    PLIFE,
    SNAP,
    ORIGIN,
    SIZE,
    P,
    W,
    G,
    comp,
    ans,
    cell,
    accepted,
    truth,
  } = state;
  const { rotate, degrade, watch } = rules;
  const scratch = new Uint8Array(SIZE);

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

  /** The window ends; the origin loses something. */
  function happens(a: Bytes, step: Step): void {
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
  }

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
      const step: Step = (label, change) => {
        scratch.set(a);
        change(scratch);
        watch(scratch);
        emit(named ? label() : "", scratch);
      };
      for (let p = 0; p < P; p++) ofProcess(a, p, step);
      happens(a, step);
    },
  };
}
