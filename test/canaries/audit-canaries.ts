/**
 * The mistakes that an audit of the specification found, put back: each must be noticed now. The checker missed them because it
 * exempted what they do, or because no world did what they need.
 */
import { type Feature, featured, type WorldOptions } from "@sluice/sim";
import type { Canary, TestedCanary } from "./canary.ts";

/** Worlds that are made for one feature, without faults. */
const withFeature =
  (feature: Feature, more: Partial<WorldOptions> = {}) =>
  (drawn: WorldOptions): Partial<WorldOptions> => ({ ...featured(drawn, feature), ...more });

export const AUDIT_CANARIES: readonly Canary[] = [
  {
    name: "names-without-a-common-origin",
    breaks:
      "a process registers its region's name with an identity of its own, and rows of one origin under two names add up",
    patches: [
      {
        file: "limiter/stack.ts",
        find: "const id = identity === null ? ledger.incarnation : await identity.readOnce();",
        replace:
          "const id = identity === null ? ledger.incarnation : (await identity.readOnce()) && ledger.incarnation;",
      },
    ],
    noticedBy: ["lower bound", "false denial"],
    world: withFeature("region-renamed"),
  },
  {
    name: "silent-before-the-first-import",
    breaks:
      "a process that has just started does not flag what it allows before it has imported, and imports a round later",
    patches: [
      {
        file: "limiter/stack.ts",
        find: "      layers.awaitOthers(this.global.durationMinMs);\n",
        replace: "",
      },
      {
        file: "global/global-layer.ts",
        find: "    void this.#join(JOIN_AGAIN_MS);\n",
        replace: "    this.#isImported = true;\n",
      },
    ],
    noticedBy: ["excess"],
    world: withFeature("late-starts"),
  },
  {
    name: "floor-of-accepted-limits",
    breaks:
      "a region's floor follows the lowest limit that accepted something, and a limit that only denies is not followed",
    patches: [
      {
        file: "engine/layers.ts",
        find: "    if (limit >= table.limitLow(slot) || limit === 0) return;\n",
        replace: "    if (limit >= 0 || limit < table.limitLow(slot)) return;\n",
      },
    ],
    noticedBy: ["excess"],
    world: withFeature("limits-changed", { floor: 0.3 }),
  },
  {
    name: "held-clock-stands-still",
    breaks: "a clock that was set back by up to 5 s stands still until real time has caught up",
    patches: [
      {
        file: "engine/held-clock.ts",
        find: "const heldMs = this.#fromMs + Math.floor(passedMs / 2);",
        replace: "const heldMs = this.#fromMs + Math.floor(passedMs * 0);",
      },
    ],
    noticedBy: ["time", "false denial"],
    world: withFeature("clocks-corrected"),
  },
  {
    name: "read-before-the-last-denial",
    breaks:
      "a request that waited for a read is degraded if its key was denied meanwhile, so a flood of denials degrades every allow",
    patches: [
      {
        file: "engine/judge.ts",
        find: 'return isSettled || gate.suffices(waited, sequence, nowMs, key.durationMs) ? "proceed" : "degraded";',
        replace:
          'const deniedMs = slot === NONE ? 0 : layers.strictUntilMs(slot) - key.durationMs;\n  return isSettled || (waited.beganMs >= deniedMs && gate.suffices(waited, sequence, nowMs, key.durationMs)) ? "proceed" : "degraded";',
      },
      {
        file: "engine/layers.ts",
        find: "  isPinned(slot: Slot): boolean {\n",
        replace:
          "  strictUntilMs(slot: Slot): number {\n    return this.#table.strictUntilMs(slot);\n  }\n\n  isPinned(slot: Slot): boolean {\n",
      },
    ],
    noticedBy: ["honesty"],
    world: withFeature("oversized-costs"),
  },
  {
    name: "strict-until-the-slot-goes",
    breaks: "a strict key forgets its deadline when its slot is swept or evicted",
    patches: [
      {
        file: "engine/engine.ts",
        find: "    if (this.#isStrict(slot)) this.#keepDeadline(slot);\n",
        replace: "    if (this.#isStrict(slot) && isOver && !isOver) this.#keepDeadline(slot);\n",
      },
    ],
    noticedBy: ["strict"],
    world: (drawn) => ({
      ...featured(drawn, "oversized-costs"),
      cellsMax: Math.max(1, drawn.keys.length - 1),
    }),
  },
  {
    name: "below-the-floor-at-the-end",
    breaks:
      "a process without an origin publishes only counts above the floor when it closes, and reports nothing lost",
    patches: [
      {
        file: "global/global-layer.ts",
        find: "this.publish.publishUntil(isKept ? this.#floorNow : NO_FLOOR, endMs);",
        replace: "this.publish.publishUntil(isKept || NO_FLOOR.part === 0 ? this.#floorNow : NO_FLOOR, endMs);",
      },
      {
        file: "global/global-layer.ts",
        find: 'const lost = isKept || mode === "denials" ? 0 : await this.publish.unstored();',
        replace: "const lost = 0;",
      },
    ],
    noticedBy: ["shutdown"],
    world: (drawn) => ({
      hasOrigin: false,
      processes: 1,
      hasGlobal: true,
      globalMode: "counters",
      globalMinDuration: Math.max(1_000, drawn.publishMs),
      faults: [],
      // A region without an origin has no identity, so it must not be renamed.
      features: [],
    }),
  },
  {
    name: "cleanup-by-the-callers-clock",
    breaks: "the store deletes what has expired by the clock of the process that asks, which may run ahead",
    patches: [
      {
        file: "sim/world/sim-counters.ts",
        find: "const expiredMs = Math.min(nowMs, this.#queue.nowMs);",
        replace: "const expiredMs = nowMs;",
      },
    ],
    noticedBy: ["conservation"],
    world: (drawn) => ({
      hasGlobal: true,
      regions: Math.max(2, drawn.regions),
      globalMode: "counters",
      globalMinDuration: Math.max(1_000, drawn.publishMs),
      faults: ["clock-jumped-forward", "clock-skewed"],
      skewMaxMs: 600_000,
    }),
  },
  {
    name: "own-denial-row-raises-own-cells",
    breaks: "a region raises its own cells to the limit because of its own denial row",
    patches: [
      {
        file: "global/denial-channel.ts",
        find: "    if (foreignLimit === null) return;\n",
        replace: "    if (foreignLimit === null && ownLimit === null) return;\n",
      },
      {
        file: "global/denial-channel.ts",
        find: "table.raiseForeign(slot, sequence, foreignLimit - table.regional(slot, sequence));",
        replace: "table.raiseForeign(slot, sequence, (foreignLimit ?? ownLimit!) - table.regional(slot, sequence));",
      },
      {
        file: "global/denial-channel.ts",
        find: "{ ...cell, limit: foreignLimit });",
        replace: "{ ...cell, limit: foreignLimit ?? ownLimit! });",
      },
    ],
    noticedBy: ["denial channel"],
    world: (drawn) => ({ hasGlobal: true, regions: Math.max(2, drawn.regions), globalMode: "denials", faults: [] }),
  },
];

/** Mistakes of the audit that no history shows: they change no answer, end the process, or are made in a store. */
export const TESTED_CANARIES: readonly TestedCanary[] = [
  {
    name: "emptied-origin-not-reported",
    breaks: "a region that starts again with an emptied origin does not report that its counts are too low",
    patches: [
      {
        file: "global/global-layer.ts",
        find: "    if (wasOriginEmpty()) this.cellsBehind = this.import.ownRows;\n",
        replace: "    if (wasOriginEmpty()) this.cellsBehind = 0;\n",
      },
    ],
    suite: "packages/sluice/src/limiter/emptied-origin.test.ts",
    test: "with an emptied origin reports",
  },
  {
    name: "future-rows-begin-a-full-pass",
    breaks: "a row of a window that has not begun makes the next import read everything",
    patches: [
      {
        file: "global/import.ts",
        find: "this.#future.keep(cell, this.#nowMs);",
        replace: "this.#untilFull = 0;\n      this.#future.keep(cell, this.#nowMs);",
      },
    ],
    suite: "packages/sluice/src/global/import.test.ts",
    test: "cost no full pass",
  },
  {
    name: "busy-keys-not-renewed",
    breaks: "a busy key of a window of 1 s is sent with the flush only, when its freshness is over",
    patches: [
      {
        file: "origin/renewal.ts",
        find: "    if (durationMs >= this.#belowMs || this.#slots.has(slot)) return;\n",
        replace: "    if (durationMs >= 0 || this.#slots.has(slot)) return;\n",
      },
    ],
    suite: "test/sim/scenarios.test.ts",
    test: "requests that wait for the origin",
  },
  {
    name: "idle-keys-examined-again",
    breaks: "keys below the floor stay in the backlog, and every round examines them again",
    patches: [
      {
        file: "global/publish.ts",
        find: "    else if (sent.length === 0) this.#ledger.markPublished(slot);\n",
        replace: "    else if (sent.length === 0 && !this.#hasUnpublished(slot)) this.#ledger.markPublished(slot);\n",
      },
    ],
    suite: "packages/sluice/src/global/publish.test.ts",
    test: "not examined again",
  },
  {
    name: "rejection-without-a-handler",
    breaks: "a clock that fails while a batch is read leaves a rejection that nobody handles, which ends the process",
    patches: [
      {
        file: "origin/refresh.ts",
        find: "const outcome: Promise<Outcome> = settled.catch(() => {",
        replace: "void settled.then(() => {});\n      const outcome: Promise<Outcome> = settled.catch(() => {",
      },
    ],
    suite: "test/protocol/unhandled.test.ts",
    test: "a batch is rejected with the clock",
  },
  {
    name: "budget-of-at-least-one-per-flush",
    breaks: "every flush may send a command, so a budget of 20 per second becomes 200 with a flush interval of 5 ms",
    patches: [
      {
        file: "origin/command-budget.ts",
        find: "return Math.max(0, Math.floor(this.#left + ROUNDING));",
        replace: "return Math.max(1, Math.floor(this.#left + ROUNDING));",
      },
    ],
    suite: "packages/sluice/src/origin/command-budget.test.ts",
    test: "replays 20 cells per second",
  },
];
