/**
 * The counters port: what the store shared by all regions must offer.
 *
 * It stores one component per region and cell: an absolute total that only grows, so a write keeps the larger of the two. A second,
 * independent part (`denials`) stores the rows of the denial channel. The port knows no limits and no windows. Any call may be lost,
 * repeated, late, answered from an old replica, or fail.
 *
 * Implementations are memory-counters.ts and sql/sql-counters.ts. All of them pass counters-conformance.ts.
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
  /** Some of the count was charged, so it may exceed its limit. Once set for a row, it stays set. */
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
  /** Pass it to the next read to get only what changed since. Opaque. */
  readonly cursor: string;
  /** There are more cells in this answer: pass this in place of a cursor to get them. The last page has none. */
  readonly rest?: string;
  /** The store lost its rows and answers as for no cursor: this is the first page of everything that it has now. */
  readonly isAll?: true;
  /** How many regions have published or registered recently, this one included. */
  readonly regionsLive: number;
}

/** The result of a registration. */
export interface Registration {
  /** Other region names of the same origin whose rows may still be alive: after a region was renamed. */
  readonly aliases: readonly string[];
  /** A conflict between region names, with the action to take; null if there is none. */
  readonly conflict: string | null;
}

/** "This cell is full": the first denial of a key in a window, published to the other regions. */
export interface DenialRow {
  readonly key: Key;
  readonly sequence: number;
  readonly limit: number;
  readonly expiresAtMs: number;
  /** The region that wrote it. Only `active` returns it. */
  readonly region?: string;
}

/** A cell that regions reported as full, seen from one region. */
export interface DeniedCell {
  readonly key: Key;
  readonly sequence: number;
  /** The highest limit under which another region denied it; null if none did. */
  readonly foreignLimit: number | null;
  /** The same for the region that reads. It must not raise that region's own cells. */
  readonly ownLimit: number | null;
}

export interface DenialPage {
  readonly cells: readonly DeniedCell[];
  /** Pass it to the next read to get only what changed since. Opaque. */
  readonly cursor: string;
  /** There are more cells in this answer: pass this in place of a cursor to get them. */
  readonly rest?: string;
  /** The store lost its rows and answers as for no cursor. */
  readonly isAll?: true;
}

export interface Counters {
  /** Raises the region's components, and registers the region as live; `rows` may be empty. */
  publish(region: string, rows: readonly CounterRow[]): Promise<void>;
  /** The cells that changed since `cursor`, or all that have not expired if it is null; in pages if there are many. */
  read(region: string, cursor: string | null): Promise<ImportPage>;
  /**
   * Deletes up to `rowsMax` rows that have expired both at `nowMs`, the caller's clock, and by the store's own clock, if it is this
   * process's turn. Resolves with the number of deleted rows.
   */
  cleanUp(nowMs: number, rowsMax: number): Promise<number>;
  /**
   * Registers that this region name belongs to this origin. It is called before the first row is published under the name and before
   * the first read, and every ten seconds after that. A store that implements it counts rows by origin (see `ImportedCell`): a read
   * never returns a row without regard to the registrations that came before it. It also reports misuse: two origins under one
   * region name hide each other's counts.
   */
  register?(region: string, origin: string): Promise<Registration>;
  readonly denials: Denials;
  /** Closes the connections. */
  close(): Promise<void>;
  /** For stores outside this process. */
  health?(): CountersHealth;
}

/** The state of a store outside this process, and its failures since it was made. */
export interface CountersHealth {
  /** Whether its schema was checked and is the one that this release needs. */
  readonly isReady: boolean;
  readonly statements: number;
  /** Statements that were retried after a deadlock, a lock or a lost connection. */
  readonly retries: number;
  /** Rows that the store refuses: they are not sent again until they expire. */
  readonly quarantined: number;
  /** Rows that were read and are invalid. */
  readonly junk: number;
  /** Failures that no retry resolved, by kind. */
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
