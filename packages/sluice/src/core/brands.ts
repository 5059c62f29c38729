/** Numbers that must not be mixed up: a brand costs nothing at run time and turns a swapped argument into a type error. */

declare const brand: unique symbol;
type Branded<Name extends string> = number & { readonly [brand]: Name };

/** A window's length in milliseconds, validated: an integer within the bounds. */
export type DurationMs = Branded<"DurationMs">;
/** The number of a window: `floor(wallMs / durationMs)`. */
export type Sequence = Branded<"Sequence">;
/** The place of a key in the cell table. */
export type Slot = Branded<"Slot">;
