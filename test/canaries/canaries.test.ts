/**
 * The checker is checked: every canary must be caught, and nothing else.
 *
 * Without CI=true: one canary, a control, and whether every patch still fits its source. `npm run canaries` runs all of them.
 */
import { afterAll, describe, expect, test } from "vitest";
import { CANARIES, canaryNamed } from "./aviary.ts";
import { writeTable } from "./canary-table.ts";
import { type Caught, catchBlind, catchCanary, control, firstSeed, seedsFrom } from "./catch.ts";
import { BLIND_CANARIES } from "./checker-canaries.ts";
import { patchedTexts } from "./patched-bundle.ts";

const isDeep = process.env["CI"] === "true";
const isWriting = process.env["SLUICE_CANARIES_WRITE"] === "true";
/** The canary that always runs, to show that failures are noticed. */
const ALWAYS = "add-instead-of-max";
const CONTROL_SEEDS = 4;
/** A test waits for its turn, then hunts for up to a minute of the processor, more than once. */
const TIMEOUT_MS = 7_200_000;

const base = firstSeed();
const caught = new Map<string, Caught>();

describe("canaries", { timeout: TIMEOUT_MS }, () => {
  test("have names of their own, and patches that fit the source exactly once", () => {
    const all = [...CANARIES, ...BLIND_CANARIES];
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    for (const { name, patches } of all) expect(() => patchedTexts(patches), name).not.toThrow();
    for (const { patches, beside } of BLIND_CANARIES) {
      expect(() => patchedTexts([...canaryNamed(beside).patches, ...patches]), beside).not.toThrow();
    }
  });

  test(`sound code keeps every invariant in the same worlds, from seed ${base}`, () =>
    control("", seedsFrom(base, CONTROL_SEEDS)));

  const hunted = isDeep ? CANARIES : [canaryNamed(ALWAYS)];
  test.concurrent.each(hunted)("$name is caught", async (canary) => {
    caught.set(canary.name, await catchCanary(canary, base));
  });

  const blind = isDeep ? BLIND_CANARIES : [];
  if (blind.length > 0) {
    test.concurrent.each(blind)("$name is noticed", async (canary) => {
      caught.set(canary.name, await catchBlind(canary, base));
    });
  }

  afterAll(() => {
    const all = [...CANARIES, ...BLIND_CANARIES].flatMap(({ name }) => caught.get(name) ?? []);
    for (const { name, noticedBy, seeds, seconds } of all) {
      console.log(
        `${name.padEnd(36)} ${String(seeds).padStart(4)} seeds ${seconds.toFixed(1).padStart(6)} s  ${noticedBy}`,
      );
    }
    if (isWriting && all.length === CANARIES.length + BLIND_CANARIES.length) writeTable(base, all);
  });
});
