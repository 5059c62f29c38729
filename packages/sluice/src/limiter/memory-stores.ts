/** The stores in memory, on the real clock unless another is given: for several limiters of one process, and for trying out. */
import { CELLS_MAX_DEFAULT } from "../core/bounds.ts";
import type { Clock } from "../core/clock.ts";
import { SluiceError } from "../core/errors.ts";
import { checkKnown } from "../core/known.ts";
import type { Counters } from "../global/counters.ts";
import { MemoryCounters } from "../global/memory-counters.ts";
import { MemoryOrigin } from "../origin/memory-origin.ts";
import type { Origin } from "../origin/origin.ts";
import { type MessageChannel, OriginHost, SharedOrigin } from "../origin/shared-origin.ts";
import { checkCellsMax } from "./options.ts";
import { systemClock } from "./system.ts";

export interface MemoryStoreOptions {
  readonly clock?: Pick<Clock, "wallMs">;
}

export interface MemoryOriginOptions extends MemoryStoreOptions {
  /**
   * How many keys it holds at most, with two cells each: 1 to 16,000,000 (from 8,000,000 on, as many as that), default 1,048,576. A key takes about
   * 600 bytes, and all of them at most 640 bytes for each of `cellsMax`. Beyond that it forgets cells: the processes that counted them
   * raise them again when they next need them, and until then the others see lower counts.
   */
  readonly cellsMax?: number | undefined;
}

/**
 * An origin in this process's memory.
 *
 * @example
 * ```ts
 * import { Limiter, memoryOrigin } from "sluice";
 *
 * const origin = memoryOrigin();
 * const limiters = [new Limiter({ origin }), new Limiter({ origin })];
 * ```
 */
export function memoryOrigin(options: MemoryOriginOptions = {}): Origin {
  return originInMemory(options);
}

function originInMemory(options: MemoryOriginOptions): MemoryOrigin {
  const clock = clockOf(options, ["clock", "cellsMax"]);
  const { cellsMax = CELLS_MAX_DEFAULT } = options;
  checkCellsMax(cellsMax);
  return new MemoryOrigin(clock, cellsMax);
}

/**
 * Global counters in this process's memory.
 *
 * @example
 * ```ts
 * import { Limiter, memoryCounters } from "sluice";
 *
 * const global = memoryCounters();
 * const regions = [new Limiter({ global, region: "eu" }), new Limiter({ global, region: "us" })];
 * ```
 */
export function memoryCounters(options: MemoryStoreOptions = {}): Counters {
  return new MemoryCounters(clockOf(options, ["clock"]));
}

/**
 * In the parent: an origin in its memory, for the workers that are passed to serve().
 *
 * @example
 * ```ts
 * import cluster from "node:cluster";
 * import { originHost } from "sluice";
 *
 * const host = originHost();
 * host.serve(cluster.fork());
 * ```
 */
export function originHost(options: MemoryOriginOptions = {}): OriginHost {
  return new OriginHost(originInMemory(options));
}

/**
 * In a worker: the origin of its parent. Pass `process`.
 *
 * @throws SluiceError if it is no channel: a process that was not forked has none.
 *
 * @example
 * ```ts
 * import { Limiter, sharedOrigin } from "sluice";
 *
 * const limiter = new Limiter({ origin: sharedOrigin(process) });
 * ```
 */
export function sharedOrigin(channel: MessageChannel): Origin {
  return new SharedOrigin(channel);
}

function clockOf(options: MemoryStoreOptions, known: readonly string[]): Pick<Clock, "wallMs"> {
  checkKnown(options, known);
  const { clock = systemClock } = options;
  if (typeof clock?.wallMs !== "function") throw new SluiceError("RL_CLOCK_INVALID", "clock", clock);
  return clock;
}
