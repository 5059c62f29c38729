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
  /** Some of it was charged, so it may exceed its limit. A row that says so once says so always. */
  readonly isCharged?: true;
}

/** One cell as the store knows it, seen from one region. */
export interface ImportedCell {
  readonly key: Key;
  readonly sequence: number;
  /** What the other origins have accepted: for each of them the largest component of its region names, added up. */
  readonly foreign: number;
  /** What this region's origin has accepted: the largest component of its region names, 0 if there is none. */
  readonly own: number;
  /** Whether any row of the cell says that some of it was charged. */
  readonly isCharged?: true;
}

export interface ImportPage {
  readonly cells: readonly ImportedCell[];
  /** Hand this in next time to get only what changed since. Opaque. */
  readonly cursor: string;
  /** There is more of this answer: hand this in to get it, in place of a cursor. A whole answer has none. */
  readonly rest?: string;
  /** The store has lost what it held, and answers as for no cursor: with this page begins all that there is now. */
  readonly isAll?: true;
  /** How many regions have published or registered lately, the asking one included. */
  readonly regionsLive: number;
}

/** What a store answers to a registration. */
export interface Registration {
  /** Other region names of the same origin whose rows may still be alive: after a region was renamed. */
  readonly aliases: readonly string[];
  /** What is wrong with the use of region names now, and what to do about it; null if nothing is. */
  readonly conflict: string | null;
}

/** "This cell is full": the first denial of a key in a window, told to the other regions. */
export interface DenialRow {
  readonly key: Key;
  readonly sequence: number;
  readonly limit: number;
  readonly expiresAtMs: number;
  /** The region that wrote it. Only `active` answers it. */
  readonly region?: string;
}

/** A cell that regions reported as full, seen from one region. */
export interface DeniedCell {
  readonly key: Key;
  readonly sequence: number;
  /** The highest limit under which another region denied it; null if none did. */
  readonly foreignLimit: number | null;
  /** The same of the asking region. It must not raise that region's own cells. */
  readonly ownLimit: number | null;
}

export interface DenialPage {
  readonly cells: readonly DeniedCell[];
  /** Pass it next time to get only what changed since. Opaque. */
  readonly cursor: string;
  /** There are more cells in this answer: pass this in place of a cursor to get them. */
  readonly rest?: string;
  /** The store lost its rows and answers as for no cursor. */
  readonly isAll?: true;
}

export interface Counters {
  /** Raises the region's components, and registers the region as live; `rows` may be empty. */
  publish(region: string, rows: readonly CounterRow[]): Promise<void>;
  /** The cells that changed since `cursor`, or with `null` all that have not expired; page by page if they are many. */
  read(region: string, cursor: string | null): Promise<ImportPage>;
  /**
   * Deletes up to `rowsMax` rows that have expired both at `nowMs`, the caller's clock, and by the store's own clock, if it is this
   * process's turn; answers how many.
   */
  cleanUp(nowMs: number, rowsMax: number): Promise<number>;
  /**
   * Says that this region name belongs to this origin. It is called before the first row is published under the name and before
   * the first read, and every ten seconds after that. A store that implements it counts rows by origin (see `ImportedCell`): a read
   * never returns a row without regard to the registrations that came before it. It also reports misuse: two origins under one
   * region name hide each other's counts.
   */
  register?(region: string, origin: string): Promise<Registration>;
  readonly denials: Denials;
  /** Lets go of connections. */
  close(): Promise<void>;
  /** For stores that are somewhere else. */
  health?(): CountersHealth;
}

/** What a store that is somewhere else did, and what went wrong with it so far. */
export interface CountersHealth {
  /** Whether its schema was found to be as this release needs it. */
  readonly isReady: boolean;
  readonly statements: number;
  /** Statements that were sent again, because another one was in their way or their connection was gone. */
  readonly retries: number;
  /** Rows that the store does not take: set aside until they expire. */
  readonly quarantined: number;
  /** Rows that were read and cannot be. */
  readonly junk: number;
  /** What failed and was given up, by kind. */
  readonly failures: Readonly<Record<string, number>>;
  readonly lastFailure: { readonly kind: string; readonly message: string } | null;
}

export interface Denials {
  /** Stores rows. Of the rows of one region for one cell the one with the highest limit stays. */
  write(region: string, rows: readonly DenialRow[]): Promise<void>;
  /** The cells whose rows changed since `cursor`, or with `null` all that have not expired; in pages of bounded size. */
  read?(region: string, cursor: string | null): Promise<DenialPage>;
  /** All rows that have not expired at `nowMs`, of all regions. Imports use it only if the store has no `read`. */
  active(nowMs: number): Promise<readonly DenialRow[]>;
}
