/**
 * The counters port: what the store shared by all regions must offer.
 *
 * One component a region and cell, an absolute total that only grows; a write takes the larger. A second, independent part
 * (`denials`) carries the rows of the denial channel. Like the origin, the port knows nothing of limits or windows, and any
 * call may be lost, repeated, late, answered from an old replica, or fail.
 *
 * An implementation is a short file: global/<driver>-counters.ts. All of them pass global/counters-conformance.ts.
 */
import type { Key } from "../engine/key.ts";

/** A region's component of one cell. */
export interface CounterRow {
  readonly key: Key;
  readonly sequence: number;
  /** Accepted by the region so far: an integer ≥ 0. */
  readonly count: number;
  /** Unix milliseconds after which the row may be deleted. */
  readonly expiresAtMs: number;
}

/** One cell as the store knows it, seen from one region. */
export interface ImportedCell {
  readonly key: Key;
  readonly sequence: number;
  /** The sum of all other regions' components. */
  readonly foreign: number;
  /** The asking region's own component, 0 if there is none. */
  readonly own: number;
}

export interface ImportPage {
  readonly cells: readonly ImportedCell[];
  /** Hand this in next time to get only what changed since. Opaque. */
  readonly cursor: string;
  /** How many regions have published or registered lately, the asking one included. */
  readonly regionsLive: number;
}

/** "This cell is full": the first denial of a key in a window, told to the other regions. */
export interface DenialRow {
  readonly key: Key;
  readonly sequence: number;
  readonly limit: number;
  readonly expiresAtMs: number;
}

export interface Counters {
  /** Raises the region's components, and registers the region as live; `rows` may be empty. */
  publish(region: string, rows: readonly CounterRow[]): Promise<void>;
  /** The cells that changed since `cursor`, or with `null` all that have not expired. */
  read(region: string, cursor: string | null): Promise<ImportPage>;
  /** Deletes up to `rowsMax` rows that have expired at `nowMs`, if it is this process's turn; answers how many. */
  cleanUp(nowMs: number, rowsMax: number): Promise<number>;
  readonly denials: Denials;
  /** Lets go of connections. */
  close(): Promise<void>;
}

export interface Denials {
  /** Stores rows; one that is there already stays as it is. */
  write(region: string, rows: readonly DenialRow[]): Promise<void>;
  /** All rows that have not expired at `nowMs`. */
  active(nowMs: number): Promise<readonly DenialRow[]>;
}
