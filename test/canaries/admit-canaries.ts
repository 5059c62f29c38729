/** Mistakes around `admit`: the call, its end, what is beside it, and what confirms it. */
import type { FaultKind, WorldOptions } from "@sluice/sim";
import type { Canary } from "./canary.ts";

/** A region of several processes on an origin that admits, in which only these things go wrong. */
const admitting =
  (faults: readonly FaultKind[], more: Partial<WorldOptions> = {}) =>
  ({ processes }: WorldOptions): Partial<WorldOptions> => ({
    hasOrigin: true,
    admits: "life",
    processes: Math.max(2, processes),
    faults,
    ...more,
  });

/** The same with bursts of mixed costs, and an origin so far away that requests come while a call is under way. */
const busy =
  (faults: readonly FaultKind[], batches = 0) =>
  (drawn: WorldOptions): Partial<WorldOptions> => ({
    ...admitting(faults)(drawn),
    regions: 1,
    hasGlobal: false,
    originDelayMs: 20,
    readTimeoutMs: 300,
    traffic: { ...drawn.traffic, shape: "bursty", perSecond: 60, costMax: 3, batches },
  });

export const ADMIT_CANARIES: readonly Canary[] = [
  {
    name: "lost-reply-denied",
    breaks: "the requests of a call that is not answered are denied, although the origin may have counted them",
    patches: [
      {
        file: "origin/admission.ts",
        find: "      for (const waiter of waiters) this.#count(call, waiter, false);",
        replace:
          "      for (const waiter of waiters) {\n        const view = this.#view(queue.hashed, queue.slot, { ...waiter, cost: 2 ** 40 }, this.#nowMs(), 0);\n        this.#settle(waiter, () => this.#deny(view, queue.slot));\n      }",
      },
    ],
    noticedBy: ["admission"],
    world: admitting(["reply-lost"]),
  },
  {
    name: "call-carries-more-than-fits",
    breaks: "a call carries every request that fits memory alone, and if no answer comes, all of them are allowed",
    patches: [
      {
        file: "origin/admission.ts",
        find: "if (view.effective + ahead > waiter.limit) break;",
        replace: "",
      },
    ],
    noticedBy: ["admission"],
    world: busy(["reply-lost", "message-lost"]),
  },
  {
    name: "own-set-to-the-component",
    breaks: "after an answer, own is what the origin has, so what a batch counted meanwhile is lost",
    patches: [
      {
        file: "engine/admitted.ts",
        find: "  table.acceptAt(slot, at, cost, limit);",
        replace:
          '  const beside = table.own(slot, at) - admission.total;\n  table.acceptAt(slot, at, source === "origin" ? cost - Math.min(cost, Math.max(0, beside)) : cost, limit);',
      },
      {
        file: "engine/admitted.ts",
        find: "  readonly call: number;",
        replace: "  readonly call: number;\n  readonly total: number;",
      },
      {
        file: "origin/admission.ts",
        find: "const sent = { key: hashed.key, slot, sequence, call: admit.call } as const;",
        replace:
          "const sent = { key: hashed.key, slot, sequence, call: admit.call, total: admit.requests.length === 1 ? admit.total : Number.MAX_VALUE } as const;",
      },
    ],
    noticedBy: ["own", "sanity", "conservation", "shutdown"],
    world: busy([], 0.5),
  },
  {
    name: "reply-counted-in-the-window-of-its-arrival",
    breaks: "the cost of a call that outlasts its window is counted in the next one",
    patches: [
      {
        file: "engine/admitted.ts",
        find: "  table.acceptAt(slot, at, cost, limit);",
        replace: "  table.accept(slot, sequenceAt(nowMs, durationMs), cost, limit);",
      },
    ],
    noticedBy: ["own", "lower bound", "false denial", "conservation", "shutdown", "monotone"],
    world: (drawn) => ({
      ...busy([])(drawn),
      keys: drawn.keys.map((key) => ({ ...key, durationMs: 1_000, limit: 100 })),
    }),
  },
  {
    name: "reply-counted-under-a-new-writer-id",
    breaks: "a key may be evicted while its call is under way, and the cost is counted in whatever slot is there then",
    patches: [
      {
        file: "engine/ledger.ts",
        find: "return (this.#marks[slot]! & (UNREPLAYED | CALLING)) !== 0;",
        replace: "return (this.#marks[slot]! & UNREPLAYED) !== 0;",
      },
    ],
    noticedBy: ["own", "lower bound", "admission", "single writer", "sanity"],
    world: (drawn) => ({ ...busy([])(drawn), cellsMax: 1 }),
  },
  {
    name: "confirmed-by-the-answer",
    breaks: "the answer to an admit confirms it, so what the origin loses before the next beat is not sent again",
    patches: [
      {
        file: "origin/regional-layer.ts",
        find: "        this.replay.notes.keep({ slot, name, sequence, component, life, beganMs });",
        replace:
          "        this.#engine.table.raiseReplayed(slot, sequence, component);\n        if (this.#engine.table.own(slot, sequence) <= component) this.#ledger.markReplayed(slot);",
      },
    ],
    noticedBy: ["conservation", "shutdown", "excess"],
    world: admitting(["origin-restarted-empty", "origin-rolled-back", "process-killed"], { flushMs: 1_000 }),
  },
  {
    name: "confirmed-by-a-beat-of-another-life",
    breaks: "the next beat confirms an admit even if the origin was replaced by an older copy in between",
    patches: [
      {
        file: "origin/admit-notes.ts",
        find: " && note.life === life ? note : null;",
        replace: " && life !== -1 ? note : null;",
      },
      { file: "origin/replay.ts", find: "if (note.life !== life || this.#ledger", replace: "if (this.#ledger" },
    ],
    noticedBy: ["conservation", "shutdown", "excess"],
    world: admitting(["origin-rolled-back"], { flushMs: 1_000 }),
  },
  {
    name: "memory-allows-beside-a-call",
    breaks: "while a call is under way, memory allows other requests of its key without the call's cost",
    patches: [
      {
        file: "origin/regional-layer.ts",
        find: "this.#engine.clock.monoMs()) && !this.#ledger.isCalling(slot);",
        replace: "this.#engine.clock.monoMs());",
      },
      {
        file: "origin/regional-layer.ts",
        find: 'if (slot !== NONE && this.#ledger.isCalling(slot)) return "read";',
        replace: "",
      },
    ],
    noticedBy: ["admission"],
    world: busy([]),
  },
  {
    name: "relative-cost",
    breaks: "the origin adds the cost of a call to whatever the component is, so a second execution counts twice",
    patches: [
      {
        file: "sim/world/sim-origin.ts",
        find: "    if (held.component > total) {",
        replace: "    if (held.component > Number.MAX_VALUE) {",
      },
      {
        file: "sim/world/sim-origin.ts",
        find: "    let raised = total;",
        replace: "    let raised = Math.max(total, held.component);",
      },
    ],
    noticedBy: ["admission", "lower bound"],
    world: admitting(["message-repeated"]),
  },
  {
    name: "strict-allow-rests-on-a-read",
    breaks: "a strict request reads, is decided by memory, and is replayed later",
    patches: [
      {
        file: "limiter/limiter.ts",
        find: "admission === null || cost === 0",
        replace: "admission === null || cost >= 0",
      },
      {
        file: "limiter/limiter.ts",
        find: "const mayAdmit = this.#regional.admission !== null && cost > 0;",
        replace: "const mayAdmit = this.#regional.admission !== null && cost < 0;",
      },
    ],
    noticedBy: ["strict"],
    world: busy([]),
  },
  {
    name: "admitted-without-the-others",
    breaks: "the origin checks a call against the component of its writer alone",
    patches: [
      {
        file: "sim/world/sim-origin.ts",
        find: "const fixed = held.sum - held.component + foreign + share;",
        replace: "const fixed = foreign + share;",
      },
    ],
    noticedBy: ["strict total", "excess"],
    world: busy([]),
  },
];
