/** Mistakes in the regional layer: replay, refresh, freshness, strictness, healing, closing. */
import type { FaultKind, WorldOptions } from "@sluice/sim";
import type { Canary } from "./canary.ts";

/** A region of several processes, in which only these things go wrong. */
const region =
  (faults: readonly FaultKind[]) =>
  ({ processes }: WorldOptions): Partial<WorldOptions> => ({
    hasOrigin: true,
    processes: Math.max(2, processes),
    faults,
  });

/** The same on an origin that does not admit: mistakes in reads, which single requests do not make otherwise. */
const reading =
  (faults: readonly FaultKind[]) =>
  (drawn: WorldOptions): Partial<WorldOptions> => ({ ...region(faults)(drawn), admits: "none" });

export const ORIGIN_CANARIES: readonly Canary[] = [
  {
    name: "increment-instead-of-total",
    breaks: "replay sends what was accepted since the last time, and the origin adds it",
    patches: [
      {
        file: "origin/replay.ts",
        find: "const raise = { key: text, sequence: at, writer: name.writer, total, expiresAtMs };",
        replace:
          "const raise = { key: text, sequence: at, writer: name.writer, total: total - table.replayed(slot, at), expiresAtMs };",
      },
      {
        file: "origin/replay.ts",
        find: "raise.sequence as Sequence, raise.total, answer, beganMs);",
        replace:
          "raise.sequence as Sequence, this.#table.replayed(slot, raise.sequence as Sequence) + raise.total, answer, beganMs);",
      },
      {
        file: "sim/world/sim-origin.ts",
        find: "    if (total > before) {\n      cell.components.set(writer, total);\n      cell.sum += total - before;\n      this.#emit(cell, writer, total);",
        replace:
          "    if (total > 0) {\n      cell.components.set(writer, before + total);\n      cell.sum += total;\n      this.#emit(cell, writer, before + total);",
      },
    ],
    noticedBy: ["lower bound"],
    world: region(["message-repeated", "reply-lost"]),
  },
  {
    name: "id-reused-after-a-kill",
    breaks: "a process that is started again counts under the id of its last life",
    patches: [
      {
        file: "sim/world/world.ts",
        find: "    const random = this.#random.fork();\n    const life",
        replace: "    const random = new SeededRandom(this.#seed + 64 * region + index);\n    const life",
      },
    ],
    noticedBy: ["single writer"],
    world: region(["process-killed"]),
  },
  {
    name: "own-counted-as-others",
    breaks: "the origin's whole sum is taken for what others have accepted",
    patches: [
      {
        file: "origin/cell-merge.ts",
        find: "answer.sum - answer.component);",
        replace: "answer.sum);",
      },
    ],
    noticedBy: ["lower bound", "false denial"],
  },
  {
    name: "dropped-on-an-open-breaker",
    breaks: "what could not be replayed is taken for replayed",
    patches: [
      {
        file: "origin/replay.ts",
        find: "      for (const { raise } of entries) this.#emit(raise, beganMs, null);",
        replace:
          "      for (const { slot, raise } of entries) {\n        this.#emit(raise, beganMs, null);\n        this.#table.raiseReplayed(slot, raise.sequence as Sequence, raise.total);\n        this.#ledger.markReplayed(slot);\n      }",
      },
    ],
    noticedBy: ["conservation", "shutdown", "excess"],
    world: region(["origin-errors", "origin-refused-writes", "process-stopped"]),
  },
  {
    name: "previous-cell-not-replayed",
    breaks: "what was accepted at the end of a window is not sent once the next has begun",
    patches: [
      {
        file: "origin/replay.ts",
        find: "for (const at of [sequence, before]) {",
        replace: "for (const at of [sequence]) {",
      },
    ],
    noticedBy: ["conservation", "shutdown", "excess"],
    world: region(["process-stopped"]),
  },
  {
    name: "origin-loss-unnoticed",
    breaks: "neither the heartbeat nor a component that is too low makes anything be replayed again",
    patches: [
      {
        file: "origin/replay.ts",
        find: "    if (hasLost) this.#replayAll();",
        replace: "    if (hasLost) this.losses++;",
      },
      {
        file: "origin/cell-merge.ts",
        find: "if (answer.component < table.replayed(slot, sequence)) {",
        replace: "if (answer.component < 0) {",
      },
    ],
    noticedBy: ["conservation", "excess", "shutdown"],
    world: region(["origin-restarted-empty"]),
  },
  {
    name: "heartbeat-unheard",
    breaks: "the heartbeat does not show that an origin forgot",
    patches: [
      {
        file: "origin/replay.ts",
        find: "    if (hasLost) this.#replayAll();",
        replace: "    if (hasLost) this.losses++;",
      },
    ],
    noticedBy: ["conservation", "excess"],
    world: region(["origin-restarted-empty"]),
  },
  {
    name: "freshness-on-the-wall-clock",
    breaks: "a cell's freshness runs on the wall clock, which may stand still",
    patches: [
      {
        file: "origin/cell-merge.ts",
        find: "table.raiseFreshUntil(slot, sequence, beganMs + freshnessMs(durationMs));",
        replace:
          "table.raiseFreshUntil(slot, sequence, this.#engine.clock.nowMs() - this.#engine.clock.monoMs() + beganMs + freshnessMs(durationMs));",
      },
      {
        file: "origin/regional-layer.ts",
        find: "table.isSettled(slot, sequence, this.#engine.clock.monoMs()) &&",
        replace: "table.isSettled(slot, sequence, Number.POSITIVE_INFINITY) &&",
      },
      {
        file: "origin/regional-layer.ts",
        find: "if (monoMs >= previousFreshUntilMs) return false;",
        replace: "if (nowMs >= previousFreshUntilMs) return false;",
      },
      {
        file: "origin/regional-layer.ts",
        find: "return monoMs < table.freshUntilMs(slot, sequence);",
        replace: "return nowMs < table.freshUntilMs(slot, sequence);",
      },
    ],
    noticedBy: ["fresh"],
    world: (drawn) => region(["clock-skewed", "clock-jumped-back"])(drawn),
  },
  {
    name: "fresh-from-the-answer-on",
    breaks: "a cell is fresh from the moment the origin answered, not from when it was asked",
    patches: [
      {
        file: "origin/cell-merge.ts",
        find: "table.raiseFreshUntil(slot, sequence, beganMs + freshnessMs(durationMs));",
        replace: "table.raiseFreshUntil(slot, sequence, this.#engine.clock.monoMs() + freshnessMs(durationMs));",
      },
    ],
    noticedBy: ["fresh"],
    world: region(["message-delayed"]),
  },
  {
    name: "failed-read-marks-fresh",
    breaks: "a read that failed is merged as if the origin had nothing",
    patches: [
      {
        file: "origin/refresh.ts",
        find: "      return failure(sequence, beganMs);\n    }",
        replace:
          "      const nothing = { sum: 0, component: 0 };\n      this.#merge.applyRead(key, sequence, writer, nothing, nothing, beganMs, mayClaim);\n      return failure(sequence, beganMs);\n    }",
      },
    ],
    noticedBy: ["fresh"],
    world: reading(["origin-errors", "message-lost"]),
  },
  {
    name: "failed-read-not-told",
    breaks: "a decision made after a read that failed is not flagged degraded",
    patches: [
      {
        file: "origin/refresh.ts",
        find: "return { isOk: false, beganMs, sequence, current: 0, previous: 0 };",
        replace: "return { isOk: true, beganMs, sequence, current: 0, previous: 0 };",
      },
    ],
    noticedBy: ["fresh", "strict"],
    world: reading(["origin-errors", "message-lost"]),
  },
  {
    name: "degraded-for-nothing",
    breaks: "where the origin should be read, the decision is made without it and flagged",
    patches: [
      {
        file: "origin/regional-layer.ts",
        find: 'this.calls.breaker.isOpen(monoMs) ? "degraded" : "read";',
        replace: 'this.calls.breaker.isOpen(monoMs) ? "degraded" : "degraded";',
      },
    ],
    noticedBy: ["honesty", "liveness"],
    world: region([]),
  },
  {
    name: "strict-keyed-with-the-sequence",
    breaks: "a key's strictness ends with the window in which it was denied",
    patches: [
      {
        file: "engine/cell-table.ts",
        find: "    turn(cold, c + FRESH_UNTIL, step);\n",
        replace: "    turn(cold, c + FRESH_UNTIL, step);\n    cold[c + STRICT_UNTIL] = 0;\n",
      },
    ],
    noticedBy: ["strict"],
    // A large cost is denied, a small one fits soon after: also at the start of the next window.
    world: (drawn) => ({
      ...region([])(drawn),
      regions: 1,
      processes: 2,
      keys: [{ ...drawn.keys[0]!, limit: drawn.keys[0]!.limit * drawn.keys.length * 3 }],
      traffic: { ...drawn.traffic, shape: "steady", costMax: 10 },
    }),
  },
  {
    name: "strict-forgotten",
    breaks: "a denial makes nothing strict",
    patches: [
      {
        file: "engine/engine.ts",
        find: "      this.table.raiseStrictUntil(slot, untilMs);\n",
        replace: "      this.table.raiseStrictUntil(slot, untilMs * 0);\n",
      },
    ],
    noticedBy: ["strict"],
    world: region([]),
  },
  {
    name: "strict-ends-with-its-slot",
    breaks: "a key's strictness ends when its slot is swept or evicted",
    patches: [
      {
        file: "engine/engine.ts",
        find: "return untilMs > 0 && untilMs > this.clock.monoMs();",
        replace: "return untilMs < 0;",
      },
    ],
    noticedBy: ["strict"],
    world: region([]),
  },
  {
    name: "strict-satisfied-by-an-older-read",
    breaks: "a strict key is allowed on a read that began before the last denial known when the request arrived",
    patches: [
      {
        file: "origin/regional-layer.ts",
        find: "strictUntilMs === 0 ? Number.NEGATIVE_INFINITY : strictUntilMs - key.durationMs;",
        replace: "strictUntilMs >= 0 ? Number.NEGATIVE_INFINITY : 0;",
      },
    ],
    noticedBy: ["strict"],
    world: (drawn) => ({
      ...reading([])(drawn),
      hasGlobal: false,
      // Reads long enough that a denial and then a request come while one is under way.
      originDelayMs: 40,
      traffic: { ...drawn.traffic, shape: "bursty", perSecond: 60, costMax: 10 },
    }),
  },
  {
    name: "breaker-never-closes",
    breaks: "a probe that succeeds leaves the breaker open",
    patches: [
      {
        file: "core/breaker.ts",
        find: '      this.#turn({ kind: "closed" });',
        replace: '      this.#turn({ kind: "open", untilMs: Number.POSITIVE_INFINITY });',
      },
    ],
    noticedBy: ["conservation", "liveness", "excess", "shutdown"],
    world: region(["origin-errors"]),
  },
  {
    name: "joined-read-never-answered",
    breaks: "who joins a read that is under way is not told how it ended, and waits without a deadline",
    patches: [
      {
        file: "origin/regional-layer.ts",
        find: "withDeadline(() => this.refresh.readMany(wishes), readTimeoutMs, timers, undefined, true);",
        replace: "withDeadline(() => this.refresh.readMany(wishes), 1e12, timers, undefined, true);",
      },
      {
        file: "origin/refresh.ts",
        find: "        return flight.outcome;",
        replace: "        return new Promise<ReadOutcome>(() => {});",
      },
    ],
    noticedBy: ["liveness"],
    world: () => ({ admits: "none" }),
  },
  {
    name: "strictness-forgotten-on-the-short-way",
    breaks: "a busy key whose cells are fresh is allowed at once though it was denied lately",
    patches: [
      {
        file: "engine/cell-table.ts",
        find: " && monoMs >= cold[c + STRICT_UNTIL]!;",
        replace: ";",
      },
    ],
    noticedBy: ["strict"],
  },
  {
    name: "closed-without-replay",
    breaks: "closing replays nothing and reports nothing lost",
    patches: [
      {
        file: "origin/regional-layer.ts",
        find: "for (let left = this.replay.unconfirmed(); left > 0 && clock.monoMs() < endMs; ) {",
        replace: "for (let left = 0; left > 0; ) {",
      },
      {
        file: "origin/regional-layer.ts",
        find: "const lost = this.replay.unconfirmed();",
        replace: "const lost = 0;",
      },
    ],
    noticedBy: ["shutdown"],
    world: region(["process-stopped"]),
  },
  {
    name: "no-expiry-in-the-origin",
    breaks: "cells are sent to the origin without an end",
    patches: [
      {
        file: "origin/replay.ts",
        find: "const raise = { key: text, sequence: at, writer: name.writer, total, expiresAtMs };",
        replace:
          "const raise = { key: text, sequence: at, writer: name.writer, total, expiresAtMs: Number.MAX_SAFE_INTEGER };",
      },
    ],
    noticedBy: ["bounds"],
  },
];
