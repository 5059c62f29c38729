/**
 * The origin port: what the shared counter store of one region must offer.
 *
 * A cell in the origin is a set of components, one a writer, each an absolute total that only grows, and their sum. The
 * port knows nothing of limits, windows or time: it stores numbers under names. Every call may be lost, repeated, late or
 * answered with an error; re-sending changes nothing.
 *
 * An implementation is a short file: origin/<driver>-origin.ts. All of them pass origin/origin-conformance.ts.
 */

/** Names one cell: the encoded key (engine/key.ts) and the number of its window. */
export interface CellName {
  readonly key: string;
  readonly sequence: number;
}

/** "Raise my component of this cell to `total` if it is lower." */
export interface Raise extends CellName {
  /** Who owns the component: the id of one incarnation. Nobody else writes it. */
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

/**
 * What the origin holds of one cell. A cell it does not know has 0 and 0; one it cannot tell about (its server is away, something
 * else stands in its place), NaN.
 */
export interface OriginCount {
  /** The sum of all components. */
  readonly sum: number;
  /** The asker's own component. */
  readonly component: number;
}

/** How a store that is somewhere else is reached, and what went wrong with it so far. */
export interface OriginHealth {
  readonly isConnected: boolean;
  /** Commands sent. One may speak of many cells. */
  readonly commands: number;
  /** Connections made, and times a script had to be sent whole. */
  readonly connects: number;
  readonly scriptLoads: number;
  /** What failed, by kind. */
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
   * Raises many components at once; answers in order what holds afterwards, NaN where it is not known to be done. Rejects if that
   * is so for all of them.
   */
  raise(raises: readonly Raise[]): Promise<readonly OriginCount[]>;
  /** Reads many cells at once; answers in order. */
  read(reads: readonly Read[]): Promise<readonly OriginCount[]>;
  /** Lets go of connections. Calls under way may still settle. */
  close(): Promise<void>;
  /** For stores that are somewhere else. */
  health?(): OriginHealth;
  /** Tells from now on what happens to the connection, until what it returns is called. */
  listen?(listener: (event: ConnectionEvent) => void): () => void;
}
