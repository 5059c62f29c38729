/** The stores in memory, on the real clock unless another is given: for several limiters of one process, and for trying out. */
import type { Clock } from "../core/clock.ts";
import type { Counters } from "../global/counters.ts";
import { MemoryCounters } from "../global/memory-counters.ts";
import { MemoryOrigin } from "../origin/memory-origin.ts";
import type { Origin } from "../origin/origin.ts";
import { type MessageChannel, OriginHost, SharedOrigin } from "../origin/shared-origin.ts";
import { systemClock } from "./system.ts";

export interface MemoryStoreOptions {
  readonly clock?: Pick<Clock, "wallMs">;
}

/** An origin in this process's memory. */
export function memoryOrigin({ clock = systemClock }: MemoryStoreOptions = {}): Origin {
  return new MemoryOrigin(clock);
}

/** Global counters in this process's memory. */
export function memoryCounters({ clock = systemClock }: MemoryStoreOptions = {}): Counters {
  return new MemoryCounters(clock);
}

/** In the parent: an origin in its memory, for the workers it is told to serve. */
export function originHost(options: MemoryStoreOptions = {}): OriginHost {
  return new OriginHost(memoryOrigin(options));
}

/** In a worker: the origin of its parent. Pass `process`. */
export function sharedOrigin(channel: MessageChannel): Origin {
  return new SharedOrigin(channel);
}
