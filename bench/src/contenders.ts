/**
 * Everyone who takes part, in the order of the tables, and how to load them. Loading is lazy: a child process that
 * measures one contender's memory must not hold another's code.
 */
import type { lastResult as lastOfAsync, run as runAsync } from "./async-loop.ts";
import type { Instance, Load } from "./contender.ts";
import type { lastResult as lastOfSync, run as runSync } from "./sync-loop.ts";

type Create = (load: Load) => Instance;

export interface Contender {
  readonly name: string;
  /** The npm package, where it is not ours. package.json has its exact version. */
  readonly packageName?: string;
  readonly window: "fixed" | "sliding" | "bucket";
  readonly isAsync: boolean;
  /** Keys per call. One that takes four takes part in the batch case only. */
  readonly batchSize: 1 | 4;
  /**
   * Set for those that keep a time per hit, and so slow down with every hit: a single key takes this many, then a new
   * instance begins. The figure for one hot key is then the mean over a window of that many hits.
   */
  readonly hitsPerKeyMax?: number;
  /** Whether its memory is measured: once per kind of table, not once per way to ask it. */
  readonly hasOwnTable: boolean;
  load(): Promise<Create>;
}

export const FLOOR = "floor";
const FLOOR_ASYNC = "floor behind async";
export const DECIDE = "Sluice decide";
export const DECIDE_AWAITED = "Sluice decide, awaited";
const RULE_DECIDE = "Sluice rule.decide";
export const LIMIT = "Sluice limit";
const DECIDE_MANY = "Sluice decideMany";
const LIMIT_MANY = "Sluice limitMany";
export const RATE_LIMITER_FLEXIBLE = "rate-limiter-flexible";

/** A log of 1,000 hits a key: a usual limit, and as much as lets a run end. */
const LOG_HITS_MAX = 1000;

type FloorModule = typeof import("./floor.ts");

export const contenders: readonly Contender[] = [
  {
    name: FLOOR,
    window: "fixed",
    isAsync: false,
    batchSize: 1,
    hasOwnTable: true,
    load: async () => (await loadCopy<FloorModule>("./floor.ts", FLOOR)).createFloor as Create,
  },
  {
    name: FLOOR_ASYNC,
    window: "fixed",
    isAsync: true,
    batchSize: 1,
    hasOwnTable: false,
    load: async () => {
      const { behindAsync } = await import("./floor-async.ts");
      return behindAsync((await loadCopy<FloorModule>("./floor.ts", FLOOR_ASYNC)).createFloor) as Create;
    },
  },
  {
    name: DECIDE,
    window: "sliding",
    isAsync: false,
    batchSize: 1,
    hasOwnTable: true,
    load: async () => (await import("./sluice.ts")).createDecide as Create,
  },
  {
    name: DECIDE_AWAITED,
    window: "sliding",
    isAsync: true,
    batchSize: 1,
    hasOwnTable: false,
    load: async () => (await import("./sluice.ts")).createDecide as Create,
  },
  {
    name: RULE_DECIDE,
    window: "sliding",
    isAsync: false,
    batchSize: 1,
    hasOwnTable: false,
    load: async () => (await import("./sluice.ts")).createRuleDecide as Create,
  },
  {
    name: LIMIT,
    window: "sliding",
    isAsync: true,
    batchSize: 1,
    hasOwnTable: false,
    load: async () => (await import("./sluice.ts")).createLimit as Create,
  },
  {
    name: DECIDE_MANY,
    window: "sliding",
    isAsync: false,
    batchSize: 4,
    hasOwnTable: false,
    load: async () => (await import("./sluice.ts")).createDecideMany as Create,
  },
  {
    name: LIMIT_MANY,
    window: "sliding",
    isAsync: true,
    batchSize: 4,
    hasOwnTable: false,
    load: async () => (await import("./sluice.ts")).createLimitMany as Create,
  },
  peer(RATE_LIMITER_FLEXIBLE, { window: "fixed", isAsync: true }, async () => {
    return (await import("./peers/rate-limiter-flexible.ts")).create as Create;
  }),
  peer("express-rate-limit", { window: "fixed", isAsync: true }, async () => {
    return (await import("./peers/express-rate-limit.ts")).create as Create;
  }),
  peer("hono-rate-limiter", { window: "fixed", isAsync: false }, async () => {
    return (await import("./peers/hono-rate-limiter.ts")).create as Create;
  }),
  peer("@fastify/rate-limit", { window: "fixed", isAsync: false }, async () => {
    return (await import("./peers/fastify-rate-limit.ts")).create as Create;
  }),
  peer("@joint-ops/hitlimit", { window: "fixed", isAsync: false }, async () => {
    return (await import("./peers/hitlimit.ts")).create as Create;
  }),
  peer("limiter", { window: "bucket", isAsync: false }, async () => {
    return (await import("./peers/limiter.ts")).create as Create;
  }),
  peer("@nestjs/throttler", { window: "sliding", isAsync: true, hitsPerKeyMax: LOG_HITS_MAX }, async () => {
    return (await import("./peers/nestjs-throttler.ts")).create as Create;
  }),
  peer("sliding-window-rate-limiter", { window: "sliding", isAsync: true, hitsPerKeyMax: LOG_HITS_MAX }, async () => {
    return (await import("./peers/sliding-window-rate-limiter.ts")).create as Create;
  }),
];

function peer(
  packageName: string,
  traits: Pick<Contender, "window" | "isAsync" | "hitsPerKeyMax">,
  load: Contender["load"],
): Contender {
  return { name: packageName, packageName, batchSize: 1, hasOwnTable: true, ...traits, load };
}

export function contenderNamed(name: string): Contender {
  const found = contenders.find((contender) => contender.name === name);
  if (found === undefined) throw new Error(`no contender is called ${JSON.stringify(name)}`);
  return found;
}

export interface Loop {
  run(...args: Parameters<typeof runSync | typeof runAsync>): number | Promise<number>;
  lastResult: typeof lastOfSync | typeof lastOfAsync;
}

/** A copy of the timed loop that no other contender runs through. */
export function loadLoop({ name, isAsync }: Contender): Promise<Loop> {
  return loadCopy<Loop>(isAsync ? "./async-loop.ts" : "./sync-loop.ts", name);
}

/** The query makes it another module to Node: compiled again, and with type feedback of its own. */
function loadCopy<Module>(file: "./floor.ts" | "./sync-loop.ts" | "./async-loop.ts", owner: string): Promise<Module> {
  return import(`${file}?owner=${encodeURIComponent(owner)}`) as Promise<Module>;
}
