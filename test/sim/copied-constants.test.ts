/**
 * The checker and the planner stand apart from the library they judge: a constant that both need is written down twice. Here
 * each copy is held to its original, and a constant that is neither a copy nor their own is not known.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { DELAY_WORST, ROUND_WORST } from "../../packages/sim/src/checker/horizons.ts";
import { ERROR_BUDGET_DEFAULT } from "../../packages/sluice/src/core/bounds.ts";
import { publishFloor } from "../../packages/sluice/src/global/floor.ts";

const HORIZONS = "sim/src/checker/horizons.ts";
const PLAN_HORIZON = "server/src/tools/plan/horizon.ts";
const BOUNDS = "sluice/src/core/bounds.ts";
const GLOBAL_LAYER = "sluice/src/global/global-layer.ts";

interface Copy {
  readonly file: string;
  readonly name: string;
  readonly of: string;
  readonly original: string;
}

const COPIES: readonly Copy[] = [
  { file: HORIZONS, name: "BREAKER_MS", of: "sluice/src/core/breaker.ts", original: "OPEN_MS" },
  { file: HORIZONS, name: "RETRY_MS", of: "sluice/src/origin/recent-failures.ts", original: "RETRY_AFTER_MS" },
  {
    file: HORIZONS,
    name: "CALL_DEADLINE_MS",
    of: "sluice/src/global/bounded-counters.ts",
    original: "CALL_DEADLINE_MS",
  },
  { file: HORIZONS, name: "FULL_EVERY", of: "sluice/src/global/import.ts", original: "FULL_EVERY" },
  {
    file: "sim/src/checker/call-turns.ts",
    name: "CALLS_OF_REQUEST",
    of: "sluice/src/origin/admission.ts",
    original: "CALLS_MAX",
  },
  {
    file: "sim/src/checker/process-clock.ts",
    name: "CLOCK_HOLD_MAX_MS",
    of: BOUNDS,
    original: "CLOCK_HOLD_MAX_MS",
  },
  {
    file: "sim/src/checker/honesty.ts",
    name: "PENDING_MAX",
    of: "sluice/src/global/denial-channel.ts",
    original: "PENDING_MAX",
  },
  { file: PLAN_HORIZON, name: "DENIALS_WRITE_MS", of: GLOBAL_LAYER, original: "DENIALS_WRITE_MS" },
  { file: PLAN_HORIZON, name: "DENIALS_IMPORT_MS", of: GLOBAL_LAYER, original: "DENIALS_IMPORT_MS" },
  {
    file: "server/src/tools/plan/world-of-plan.ts",
    name: "READ_TIMEOUT_MS",
    of: BOUNDS,
    original: "READ_TIMEOUT_MAX_MS",
  },
  { file: "server/src/tools/plan/sizing.ts", name: "READ_TIMEOUT_MS", of: BOUNDS, original: "READ_TIMEOUT_MAX_MS" },
  {
    file: "server/src/tools/plan/world-of-plan.ts",
    name: "DRIVER_TIMEOUT_MS",
    of: "sluice/src/origin/redis/options.ts",
    original: "TIMEOUT_DEFAULT_MS",
  },
];

/** What the horizons have of their own, with a test below; the reads of a request have theirs in far-origin.test.ts. */
const OWN = ["DELAY_WORST", "ROUND_WORST", "FLOOR_DEFAULT", "READS_MAX", "CALLS_MAX"];

function textOf(file: string): string {
  return readFileSync(new URL(`../../packages/${file}`, import.meta.url), "utf8");
}

function numberIn(file: string, name: string): number {
  const text = textOf(file).match(new RegExp(`^(?:export )?const ${name} = ([\\d_.]+);$`, "m"))?.[1];
  return Number(text?.replaceAll("_", ""));
}

describe("a constant that is copied", () => {
  test.each(COPIES)("$name of $file is $original of $of", ({ file, name, of, original }) => {
    expect(numberIn(of, original)).toBeGreaterThan(0);
    expect(numberIn(file, name)).toBe(numberIn(of, original));
  });

  test.each([HORIZONS, PLAN_HORIZON])("every one of %s is known here", (file) => {
    const names = [...textOf(file).matchAll(/^(?:export )?const ([A-Z][A-Z_]+) =/gm)].map(([, name]) => name);
    const known = [...OWN, ...COPIES.filter((copy) => copy.file === file).map(({ name }) => name)];
    expect(names.length).toBeGreaterThan(1);
    expect(names.filter((name) => !known.includes(name!))).toEqual([]);
  });
});

describe("the horizons", () => {
  test("take the floor of two live regions, the highest there is", () => {
    const floors = [2, 3, 4, 10, 100].map((regions) => publishFloor(regions, ERROR_BUDGET_DEFAULT));
    expect(numberIn(HORIZONS, "FLOOR_DEFAULT")).toBe(Math.max(...floors));
  });

  test("let a round be late by the jitter, twice", () => {
    expect(ROUND_WORST).toBeCloseTo(2 * (1 + numberIn(GLOBAL_LAYER, "JITTER")), 12);
  });

  test("let a message take as long as the network of a world may", () => {
    const [, least] = textOf("sim/src/world/network.ts").match(
      /link\.delayMs \* \(([\d.]+) \+ this\.#random\.fraction\(\)\)/,
    )!;
    expect(DELAY_WORST).toBe(Number(least) + 1);
  });
});
