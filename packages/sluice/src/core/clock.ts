/**
 * Time, timers and chance as the rest of the code sees them: always passed in, never reached for.
 *
 * That is what makes a run repeatable: the simulator, the properties and the replays pass their own. The real ones live
 * in limiter/system.ts and nowhere else.
 */

export interface Clock {
  /** Milliseconds since the Unix epoch. Picks the window, and nothing else. */
  wallMs(): number;
  /** Milliseconds since some fixed moment; never goes back. Deadlines use this one. */
  monoMs(): number;
}

export interface Timers {
  /** Calls back once, after at least `delayMs`. A pending timer must not keep a process alive, unless that is asked for. */
  set(callback: () => void, delayMs: number, keepsAlive?: boolean): unknown;
  clear(handle: unknown): void;
}

export interface Random {
  /** A uniformly random integer from 0 to 2^32 - 1. */
  uint32(): number;
}

/** All three, as something that runs by itself needs them. */
export interface Environment {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}
