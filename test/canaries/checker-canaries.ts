/**
 * Mistakes in the checker itself. A checker that alarms for nothing is noticed by the control: worlds of sound code in which
 * it finds something. One that does not look is noticed by the canary beside it, which then goes uncaught.
 */
import type { BlindCanary, Canary } from "./canary.ts";

export const ALARMED_CANARIES: readonly Canary[] = [
  {
    name: "truth-without-accepts",
    breaks: "the checker forgets what was accepted by others than the first writer of a cell",
    patches: [
      {
        file: "sim/checker/truth.ts",
        find: "    cell.total += cost;\n",
        replace: "    if (cell.byWriter.size <= 1) cell.total += cost;\n",
      },
    ],
    noticedBy: ["lower bound", "false denial"],
  },
  {
    name: "truth-without-admitted",
    breaks: "the checker does not take what an origin admits for accepted before the process says so",
    patches: [
      {
        file: "sim/checker/truth.ts",
        find: "      if (rise > 0) this.#accept(",
        replace: "      if (rise < 0) this.#accept(",
      },
    ],
    noticedBy: ["lower bound", "own"],
    world: () => ({ hasOrigin: true, admits: "life" }),
  },
  {
    name: "bound-without-a-horizon",
    breaks: "the bound E allows no time for news to travel",
    patches: [
      {
        file: "sim/checker/excess.ts",
        find: "const heard = accepted.before(sinceMs) -",
        replace: "const heard = accepted.before(Number.POSITIVE_INFINITY) -",
      },
    ],
    noticedBy: ["excess"],
  },
];

export const BLIND_CANARIES: readonly BlindCanary[] = [
  {
    name: "problems-swallowed",
    breaks: "the checker finds problems and tells nobody",
    patches: [
      {
        file: "sim/checker/checker.ts",
        find: "      if (problem !== undefined) {",
        replace: '      if (problem === "") {',
      },
    ],
    beside: "add-instead-of-max",
  },
  {
    name: "blind-to-stored-components",
    breaks: "what an origin holds is not compared with what its writer accepted",
    patches: [
      {
        file: "sim/checker/lower-bound.ts",
        find: "if (event.total <= accepted) return undefined;",
        replace: "if (event.total <= accepted + Number.MAX_VALUE) return undefined;",
      },
    ],
    beside: "uncommitted-batch-published",
    says: /^lower bound: \S+ stored \d+, accepted \d+ /,
  },
  {
    name: "blind-to-own-counts",
    breaks: "a process is believed what it says it has accepted",
    patches: [
      {
        file: "sim/checker/lower-bound.ts",
        find: "if (own === accepted || ",
        replace: "if (own >= 0 || ",
      },
    ],
    beside: "await-between-check-and-commit",
  },
  {
    name: "blind-to-excess",
    breaks: "no excess is too large",
    patches: [
      {
        file: "sim/checker/excess.ts",
        find: "if (excess <= bound) return undefined;",
        replace: "if (excess <= bound + Number.MAX_VALUE) return undefined;",
      },
    ],
    beside: "floor-above-one-in-r",
  },
  {
    name: "blind-to-staleness",
    breaks: "data of any age is fresh",
    patches: [
      {
        file: "sim/checker/freshness.ts",
        find: "const freshMs = freshnessMs(durationMs) + ROUNDING_MS;",
        replace: "const freshMs = freshnessMs(durationMs) + Number.MAX_VALUE;",
      },
    ],
    beside: "fresh-from-the-answer-on",
  },
  {
    name: "blind-to-strictness",
    breaks: "denials are not remembered",
    patches: [
      {
        file: "sim/checker/freshness.ts",
        find: "if (deniedMs === undefined || arrivedMs - deniedMs >= durationMs - ROUNDING_MS)",
        replace: "if (deniedMs === undefined || arrivedMs >= 0)",
      },
    ],
    beside: "strict-forgotten",
  },
  {
    name: "blind-to-what-falls",
    breaks: "counts may fall",
    patches: [
      {
        file: "sim/checker/memory.ts",
        find: "if (event[field] < known[field]) return",
        replace: "if (event[field] < 0) return",
      },
    ],
    beside: "assign-instead-of-max",
  },
  {
    name: "blind-to-parts-of-batches",
    breaks: "what the items of a batch have in common is not looked at",
    patches: [
      {
        file: "sim/checker/sanity.ts",
        find: "      this.#batch.push(event);\n",
        replace: "",
      },
    ],
    beside: "batch-counted-in-part",
  },
  {
    name: "blind-to-what-is-left-behind",
    breaks: "a process that stops is believed what it reports as lost",
    patches: [
      {
        file: "sim/checker/settlement.ts",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a piece of source
        find: "return left <= lost ? undefined : `shutdown: ${left} left behind,",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a piece of source
        replace: "return left >= lost ? undefined : `shutdown: ${left} left behind,",
      },
    ],
    beside: "closed-without-replay",
  },
];
