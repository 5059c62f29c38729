/**
 * The hunt, as the child process runs it: fresh seeds, one after the other, until an invariant that may notice the canary
 * does. Its one argument is an Order; its answer, a Find, is the last line it prints.
 */
import { drawOptions, runWorld } from "@sluice/sim";
import { canaryNamed } from "./aviary.ts";
import { invariantOf } from "./canary.ts";

export interface Order {
  /** The canary whose worlds are run; "" for worlds as the seeds draw them. */
  readonly world: string;
  /** What ends the hunt: null is any problem. */
  readonly noticedBy: readonly string[] | null;
  readonly seeds: readonly number[];
}

export interface Find {
  /** The problem that ended the hunt, and its seed; undefined if none did. */
  readonly problem?: string;
  readonly seed?: number;
  /** How many worlds were run. */
  readonly seeds: number;
  /** What it took of the processor, from the start of the process: what else the machine does changes nothing. */
  readonly seconds: number;
}

async function hunt({ world, noticedBy, seeds }: Order): Promise<Omit<Find, "seconds">> {
  const change = world === "" ? undefined : canaryNamed(world).world;
  let count = 0;
  for (const seed of seeds) {
    count++;
    const options = change?.(drawOptions(seed)) ?? {};
    const { problem } = await runWorld(seed, { options });
    if (problem === undefined) continue;
    if (noticedBy === null || noticedBy.includes(invariantOf(problem))) return { problem, seed, seeds: count };
  }
  return { seeds: count };
}

const order = JSON.parse(process.argv[2]!) as Order;
const found = await hunt(order);
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ ...found, seconds: (user + system) / 1_000_000 } satisfies Find));
