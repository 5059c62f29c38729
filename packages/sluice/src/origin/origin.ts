/**
 * The origin port: what the shared counter store of one region must offer.
 *
 * A cell in the origin is one component per writer, each an absolute total that only grows, plus their sum. `raise` and `read`
 * know nothing of limits, windows or time: they store numbers under names. `admit` checks requests against limits that its caller
 * names, and counts those that fit. Every call may be lost, repeated, late or answered with an error. What a call writes is
 * always absolute, so executing it again changes nothing.
 *
 * Implementations are memory-origin.ts, shared-origin.ts and redis/redis-origin.ts. All of them pass origin-conformance.ts.
 */

import type { Free, Freed, Held, Hold } from "./hold.ts";
import type { OriginCount } from "./origin-count.ts";

export type { OriginCount } from "./origin-count.ts";

/** Names one cell: the encoded key (engine/key.ts) and the number of its window. */
export interface CellName {
  readonly key: string;
  readonly sequence: number;
}

/** "Raise my component of this cell to `total` if it is lower." */
export interface Raise extends CellName {
  /** The owner of the component: the id of one incarnation of a process. No other process writes it. */
  readonly writer: string;
  /** What the writer has accepted so far: an integer ≥ 0. */
  readonly total: number;
  /** Unix milliseconds after which the cell may vanish. */
  readonly expiresAtMs: number;
}

/** "What do you know of this cell, and of my component of it?" */
export interface Read extends CellName {
  readonly writer: string;
}

/** One request of an {@link Admit}: "count this cost if the limit has room for it". */
export interface AdmitRequest {
  readonly limit: number;
  /** An integer ≥ 1. */
  readonly cost: number;
}

/**
 * "Raise my components of these two cells to my totals. Then check these requests in order, and count those that fit, under my
 * component of the current cell." All of it is one step.
 *
 * A request fits if `others + foreign + floor((previousSum + previousForeign) * leftMs / durationMs) + total + cost <= limit`, where
 * `others` is the sum of the cell without the caller's component, and `total` includes the earlier requests that fit.
 */
export interface Admit extends CellName {
  readonly writer: string;
  /** What the writer has accepted so far in the cell, and in the cell of the window before it. */
  readonly total: number;
  readonly previousTotal: number;
  /** Unix milliseconds after which each of the two cells may vanish. */
  readonly expiresAtMs: number;
  readonly previousExpiresAtMs: number;
  /** What other regions have counted in the two cells, as far as the caller knows. It is used for the check and is not stored. */
  readonly foreign: number;
  readonly previousForeign: number;
  /** The weight of the previous cell: what is left of the window when the call is sent, and how long the window is. */
  readonly leftMs: number;
  readonly durationMs: number;
  /** In order of arrival: 1 to 64. */
  readonly requests: readonly AdmitRequest[];
  /** Numbers the calls of one process, from 1. For histories: an origin need not look at it. */
  readonly call: number;
}

/** The answer to one {@link Admit}. */
export interface Admitted {
  /**
   * Which requests were counted, in order. Null if nothing is known: the component of the current cell was above `total` already (an
   * earlier execution of the same call, or a replay that overtook it), the call was sent twice, or it failed.
   */
  readonly allowed: readonly boolean[] | null;
  /** The counts of both cells afterwards; NaN if they are not known. */
  readonly current: OriginCount;
  readonly previous: OriginCount;
}

/** The connection to a store outside this process, and its failures since it was made. */
export interface OriginHealth {
  readonly isConnected: boolean;
  /** Commands sent. One may concern many cells. */
  readonly commands: number;
  /** Connections made, and times a script had to be sent whole. */
  readonly connects: number;
  readonly scriptLoads: number;
  /** Failures, by kind. */
  readonly failures: Readonly<Record<string, number>>;
  readonly lastFailure: { readonly kind: string; readonly message: string } | null;
}

/** A connection was made, lost, or could not be made. */
export type ConnectionEvent =
  | { readonly kind: "connected"; readonly address: string }
  | { readonly kind: "disconnected"; readonly address: string; readonly failure: string; readonly message: string };

export interface Origin {
  /** The counts are in the memory of a process and end with it. A limiter that closes then publishes all of them, if it can. */
  readonly isVolatile?: true;
  /** The store is a process of this machine, so a call costs little: near a limit every request asks it (near-limit.ts). */
  readonly isNear?: true;
  /**
   * Raises many components at once. Resolves with the counts afterwards, in order; NaN for a raise that may not have been done. Rejects
   * if that is so for all of them.
   */
  raise(raises: readonly Raise[]): Promise<readonly OriginCount[]>;
  /** Reads many cells at once. Resolves with their counts, in order. */
  read(reads: readonly Read[]): Promise<readonly OriginCount[]>;
  /**
   * Checks and counts requests of many keys, each key in one step; answers in order. Rejects if nothing is known of any of them. An
   * implementation sends a call once: it sends it again only after an answer that proves that the call was not executed.
   * Optional: without it, such requests read, are decided in memory, and are replayed.
   */
  admit?(admits: readonly Admit[]): Promise<readonly Admitted[]>;
  /**
   * Makes or enlarges a reservation over all items of the call, or over none; with an empty id it looks at their keys. What a hold means is in
   * hold.ts. Items that share a server are one step. An implementation sends a call once: again only after an answer that proves that it was not
   * executed. Rejects if nothing is known of any item. Optional, together with `free`: without them, reservations are made in memory.
   */
  hold?(hold: Hold): Promise<Held>;
  /** Ends or renews holds, each in one step; answers in order. `atMs` is as in {@link Hold}. Rejects if nothing is known of any of them. */
  free?(frees: readonly Free[], atMs: number): Promise<Freed>;
  /**
   * A number that changes whenever a connection opens or closes, or the servers behind them change. While it stays the same, an answer
   * comes from the very server that answered before. Undefined, or absent: not known.
   */
  life?(): number | undefined;
  /** Closes the connections. Calls in flight may still settle. */
  close(): Promise<void>;
  /** For stores outside this process. */
  health?(): OriginHealth;
  /** Reports changes of the connection from now on. Call the returned function to stop. */
  listen?(listener: (event: ConnectionEvent) => void): () => void;
}
