/** What an origin says of one cell, and of the holds of its key. */

/** The living holds of a key. */
export interface KeyHolds {
  readonly cost: number;
  /** No hold expires before this time of the origin; 0 if there are none. */
  readonly earliestMs: number;
  /** Grows with every change of the key's holds. */
  readonly version: number;
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
  /** The living holds of the cell's key, if the origin tells: absent if there are none, and from an origin without `hold`. */
  readonly holds?: KeyHolds;
}
