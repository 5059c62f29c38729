/** A plan as a world of the simulator. */
import type { Traffic, WorldOptions } from "@sluice/sim";
import type { Plan, Shape } from "./plan.ts";

const SHAPES: Readonly<Record<Shape, Traffic["shape"]>> = {
  even: "even",
  one: "one-region",
  burst: "bursty",
  steady: "steady",
  herd: "herd",
};

/** What is not planned, but has to be something: the library's defaults, or a driver's. */
const READ_TIMEOUT_MS = 300;
const DRIVER_TIMEOUT_MS = 1_000;
/** A driver far from its store is given more time: a message takes up to one and a half times its mean. */
const DRIVER_TIMEOUT_RTTS = 3;
const CELLS_MAX = 64;
/** A clock that is wrong is wrong by up to this: what a machine without NTP gathers in a day or so. */
const SKEW_MAX_MS = 2_000;

export function worldOf(plan: Plan): WorldOptions {
  const { regions, processes, limit, duration: durationMs, load, windows, faults } = plan;
  const hasGlobal = regions > 1;
  return {
    regions,
    processes,
    safetyMs: windows * durationMs,
    keys: [{ workspace: "plan", namespace: "api", identifier: "key", durationMs, limit }],
    traffic: {
      shape: SHAPES[plan.shape],
      perSecond: (load * limit * 1_000) / durationMs,
      costMax: 1,
      batches: 0,
      peeks: 0,
    },
    hasOrigin: true,
    admits: "life",
    hasGlobal,
    globalMode: plan.mode,
    flushMs: plan.flush,
    readTimeoutMs: READ_TIMEOUT_MS,
    publishMs: plan.publish,
    importMs: plan.import,
    floor: plan.floor,
    globalMinDuration: plan["global-min"],
    cellsMax: CELLS_MAX,
    whenFull: "allow",
    // One way.
    originDelayMs: plan["origin-rtt"] / 2,
    globalDelayMs: plan["global-rtt"] / 2,
    timeoutMs: Math.max(
      DRIVER_TIMEOUT_MS,
      DRIVER_TIMEOUT_RTTS * plan["origin-rtt"],
      DRIVER_TIMEOUT_RTTS * plan["global-rtt"],
    ),
    faults: faults.kinds.filter((kind) => hasGlobal || !kind.startsWith("global")),
    faultEveryMs: plan["fault-every"],
    skewMaxMs: SKEW_MAX_MS,
    script: faults.script,
    // Otherwise the seed would draw some.
    features: [],
  };
}
