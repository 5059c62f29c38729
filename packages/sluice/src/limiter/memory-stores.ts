/** The stores in memory, on the real clock unless another is given: for several limiters of one process, and for trying out. */
import type { Clock } from "../core/clock.ts";
import { SluiceError } from "../core/errors.ts";
import type { Counters } from "../global/counters.ts";
import { MemoryCounters } from "../global/memory-counters.ts";
import { MemoryOrigin } from "../origin/memory-origin.ts";
import type { Origin } from "../origin/origin.ts";
import { type MessageChannel, OriginHost, SharedOrigin } from "../origin/shared-origin.ts";
import { checkKnown } from "./known.ts";
import { systemClock } from "./system.ts";

export interface MemoryStoreOptions {
  readonly clock?: Pick<Clock, "wallMs">;
}

/** An origin in this process's memory. */
export function memoryOrigin(options: MemoryStoreOptions = {}): Origin {
  return new MemoryOrigin(clockOf(options));
}

/** Global counters in this process's memory. */
export function memoryCounters(options: MemoryStoreOptions = {}): Counters {
  return new MemoryCounters(clockOf(options));
}

/** In the parent: an origin in its memory, for the workers it is told to serve. */
export function originHost(options: MemoryStoreOptions = {}): OriginHost {
  return new OriginHost(memoryOrigin(options));
}

/**
 * In a worker: the origin of its parent. Pass `process`.
 *
 * @throws SluiceError if it is no channel: a process that was not forked has none.
 */
export function sharedOrigin(channel: MessageChannel): Origin {
  return new SharedOrigin(channel);
}

function clockOf(options: MemoryStoreOptions): Pick<Clock, "wallMs"> {
  checkKnown(options, ["clock"]);
  const { clock = systemClock } = options;
  if (typeof clock?.wallMs !== "function") throw new SluiceError("RL_CLOCK_INVALID", "clock", clock);
  return clock;
}
