/** What the suite does with a canary: catch it, and make sure that it was the canary that was caught. */
import { canaryNamed } from "./aviary.ts";
import { type BlindCanary, type Canary, invariantOf } from "./canary.ts";
import type { Find } from "./hunt.ts";
import { runHunt, SEEDS_MAX } from "./run-hunt.ts";

/** A canary that was caught: a line of docs/canaries.md. */
export interface Caught {
  readonly name: string;
  readonly breaks: string;
  readonly noticedBy: string;
  readonly seeds: number;
  readonly seconds: number;
}

/** Seeds of a hunt on which a blind checker is tried: where another invariant sees the same, the next may show it. */
const TRIES_MAX = 12;

/** The same seeds in every run of the gate; with CI=true, or SLUICE_CANARY_BASE=now, others. */
const FIRST_SEED = 77_000_000;

export function firstSeed(): number {
  const given = process.env["SLUICE_CANARY_BASE"] ?? (process.env["CI"] === "true" ? "now" : String(FIRST_SEED));
  return given === "now" ? Math.floor(Date.now() / 1_000) * 2 ** 12 : Number(given);
}

export function seedsFrom(base: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => base + i);
}

/** Runs sound code on some seeds of a canary's worlds. Throws if anything is found: the alarm was false. */
export async function control(world: string, seeds: readonly number[]): Promise<void> {
  const { problem, seed } = await runHunt([], { world, noticedBy: null, seeds });
  if (problem !== undefined)
    throw new Error(`the control fails, seed ${seed}, worlds of ${world || "no canary"}: ${problem}`);
}

/** Throws unless the canary is caught, and sound code passes where it was. */
export async function catchCanary(canary: Canary, base: number): Promise<Caught> {
  const { name, breaks } = canary;
  const { seed, problem, seeds, seconds } = await hunt(canary, base);
  await control(name, [seed]);
  return { name, breaks, noticedBy: invariantOf(problem), seeds, seconds };
}

/**
 * Throws unless the canary beside the blind checker, which a sound checker catches, goes uncaught; or, where it is known what
 * the blind check would say, unless that goes unsaid in a world where the sound checker said it.
 */
export async function catchBlind({ name, breaks, patches, beside, says }: BlindCanary, base: number): Promise<Caught> {
  const canary = canaryNamed(beside);
  let from = base;
  let seconds = 0;
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    const sound = await hunt(canary, from);
    const order = { world: beside, noticedBy: canary.noticedBy, seeds: [sound.seed] };
    const blind = await runHunt([...canary.patches, ...patches], order);
    seconds += sound.seconds + blind.seconds;
    from = sound.seed + 1;
    const isUncaught = blind.problem === undefined;
    const isUnsaid = says?.test(sound.problem) === true && !says.test(blind.problem ?? "");
    if (isUncaught || isUnsaid) {
      const noticedBy = `\`${beside}\` goes uncaught${isUncaught ? "" : " at first"}`;
      return { name, breaks, noticedBy, seeds: from - base, seconds };
    }
  }
  throw new Error(`${name}: ${beside} is caught all the same, ${TRIES_MAX} times`);
}

async function hunt({ name, patches, noticedBy }: Canary, base: number): Promise<Required<Find>> {
  const found = await runHunt(patches, { world: name, noticedBy, seeds: seedsFrom(base, SEEDS_MAX) });
  const { problem, seed } = found;
  if (problem === undefined || seed === undefined)
    throw new Error(`${name} is not caught in ${SEEDS_MAX} seeds from ${base}`);
  return { ...found, problem, seed };
}
