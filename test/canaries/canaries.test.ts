/**
 * The checker is checked: every canary must be caught, and nothing else.
 *
 * Here: one canary, a control, and whether every patch still fits its source; with CI=true a few more, other ones in every run.
 * `npm run lab -- canaries` runs all of them.
 */
import { afterAll, describe, expect, test } from "vitest";
import { byLength } from "../rig/length.ts";
import { TESTED_CANARIES } from "./audit-canaries.ts";
import { CANARIES, canaryNamed } from "./aviary.ts";
import { type Caught, catchBlind, catchCanary, control, firstSeed, seedsFrom } from "./catch.ts";
import { BLIND_CANARIES } from "./checker-canaries.ts";
import { patchedTexts } from "./patched-bundle.ts";
import { catchTested } from "./run-tested.ts";

/** Each takes about 4 s of one core: the bundle, the search, and the control where it was caught. */
const MORE = byLength({ short: 0, ci: 9, lab: 0 });
const BLIND = byLength({ short: 0, ci: 2, lab: 0 });
const TESTED = byLength({ short: 0, ci: 1, lab: 0 });
/** The canary that always runs, to show that failures are noticed. */
const ALWAYS = "add-instead-of-max";
const CONTROL_SEEDS = 4;
/** A test waits for its turn, then hunts for up to a minute of the processor, more than once. */
const TIMEOUT_MS = 7_200_000;

const base = firstSeed();
const caught = new Map<string, Caught>();

/** So many of them, from a place that the first seed chooses: some other ones in every run. */
function inTurn<T>(all: readonly T[], count: number): readonly T[] {
  const first = Math.floor(base / 2 ** 12) % all.length;
  return [...all, ...all].slice(first, first + count);
}

describe("canaries", { timeout: TIMEOUT_MS }, () => {
  test("have names of their own, and patches that fit the source exactly once", () => {
    const all = [...CANARIES, ...BLIND_CANARIES, ...TESTED_CANARIES];
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    for (const { name, patches } of all) expect(() => patchedTexts(patches), name).not.toThrow();
    for (const { patches, beside } of BLIND_CANARIES) {
      expect(() => patchedTexts([...canaryNamed(beside).patches, ...patches]), beside).not.toThrow();
    }
  });

  test(`sound code keeps every invariant in the same worlds, from seed ${base}`, () =>
    control("", seedsFrom(base, CONTROL_SEEDS)));

  const others = CANARIES.filter(({ name }) => name !== ALWAYS);
  test.concurrent.each([canaryNamed(ALWAYS), ...inTurn(others, MORE)])("$name is caught", async (canary) => {
    caught.set(canary.name, await catchCanary(canary, base));
  });

  const blind = inTurn(BLIND_CANARIES, BLIND);
  if (blind.length > 0) {
    test.concurrent.each(blind)("$name is noticed", async (canary) => {
      caught.set(canary.name, await catchBlind(canary, base));
    });
  }

  const tested = inTurn(TESTED_CANARIES, TESTED);
  if (tested.length > 0) {
    test.each(tested)("$name fails a test", async (canary) => {
      caught.set(canary.name, await catchTested(canary));
    });
  }

  afterAll(() => {
    const all = [...CANARIES, ...BLIND_CANARIES, ...TESTED_CANARIES].flatMap(({ name }) => caught.get(name) ?? []);
    for (const { name, noticedBy, seeds, seconds } of all) {
      console.log(
        `${name.padEnd(36)} ${String(seeds).padStart(4)} seeds ${seconds.toFixed(1).padStart(6)} s  ${noticedBy}`,
      );
    }
  });
});
