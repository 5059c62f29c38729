/**
 * Reservations as the origin keeps them: the calls `hold` and `free` of the port (origin.ts), and their answers.
 *
 * A *hold* is cost that is held at one key under an id until a deadline. A *reservation* is one id with one hold per limit of a list. A hold
 * is *living* before its deadline, *expired* for one hour after it (it can still be settled), and *ended* once it is settled or
 * released. The origin remembers an ended hold for 10 to 20 minutes. A *look* reads both cells and the holds of a key at one instant.
 *
 * Invariants (docs/decisions/0023): at every grant, the counts, all living holds and the new one are within the limit, by the origin's clock.
 * Ending a hold and counting its settlement are one step, so a settlement counts once, whoever repeats it. An ended hold never lives
 * again. Nothing that a call writes is without an expiry.
 */
import type { KeyHolds, OriginCount } from "./origin-count.ts";

export type { KeyHolds } from "./origin-count.ts";

/** An ended hold is remembered until the end of the next bucket: 10 to 20 minutes. */
const ENDED_BUCKET_MS = 600_000;
/** An expired hold can be settled for this long after its deadline. */
export const EXPIRED_KEPT_MS = 3_600_000;
/** Deadlines are rounded up to this, so that a key is scanned for expired holds at most four times per second. */
const DEADLINE_GRID_MS = 256;
/** A `hold` names a time of the origin after which it must not be executed: at most this far ahead. Ended holds are remembered for longer. */
export const HOLD_BY_MAX_MS = 60_000;
/** Ended holds of one key in one bucket. Beyond that the key grants nothing. */
export const ENDED_MAX = 1_000_000;
/** What a settlement is counted under saturates here. */
export const SETTLED_MAX: number = 2 ** 44;

/** One limit of a {@link Hold}. */
export interface HoldItem {
  readonly key: string;
  readonly durationMs: number;
  /** The current window by the origin's clock, as far as the caller knows it. */
  readonly sequence: number;
  readonly limit: number;
  /** What the id is to hold of this key altogether: a total, so that a repeated call adds nothing. Items of one key add up. */
  readonly cost: number;
  readonly writer: string;
  /** What the writer has accepted so far in the cell, and in the cell of the window before it. Both components are raised to it. */
  readonly total: number;
  readonly previousTotal: number;
  /** The sums of the two cells as far as the caller knows them: an origin that has forgotten counts must not grant more than that allows. */
  readonly known: number;
  readonly previousKnown: number;
  /** What other regions have counted in the two cells, as far as the caller knows. */
  readonly foreign: number;
  readonly previousForeign: number;
  /** What the caller holds of the key in its own memory. */
  readonly heldInMemory: number;
}

/** "Hold all of this under this id until `ttlMs` from now, or nothing of it." With an empty id: a look. */
export interface Hold {
  readonly id: string;
  readonly ttlMs: number;
  /** The origin's time as far as the caller knows it: an implementation may need it to name what it reads. A wrong one is answered with `window`. */
  readonly atMs: number;
  /** The latest time of the origin at which the call may be executed. */
  readonly byMs: number;
  /** The maximum number of living holds per key. */
  readonly holdsMax: number;
  readonly items: readonly HoldItem[];
}

/**
 * - `granted`, `again`: held; held before with at least this cost
 * - `fits`: it would be held, but another item of the call was refused
 * - `limit`: refused, the counts alone leave no room
 * - `reserved`: refused, there is no room beside the living holds
 * - `full`: refused, the key has too many holds, or has ended too many
 * - `ended`: the id has expired, or was settled or released
 * - `looked`: the id was empty
 */
export type HoldCode = "granted" | "again" | "fits" | "limit" | "reserved" | "full" | "ended" | "looked";

/** The answer to one item. */
export interface HeldItem {
  readonly code: HoldCode;
  /** The origin's time at which the hold expires; 0 if nothing is held. */
  readonly deadlineMs: number;
  /** What holds afterwards of both cells, with the component of the item's writer. */
  readonly current: OriginCount;
  readonly previous: OriginCount;
  readonly holds: KeyHolds;
}

/**
 * `stale`, `window`: nothing was done. `byMs` has passed or is too far ahead; the caller's window or bucket is not that of the origin's clock.
 * Both may be sent again.
 */
export type NotDone = "stale" | "window";

/**
 * An item is null if nothing is known of it: its hold may have been made. `isPartial`: the servers of other items, which were asked before,
 * have granted theirs. Then the id must be cancelled, and not used again.
 */
export type Held =
  | { readonly nowMs: number; readonly code: NotDone; readonly isPartial?: true }
  | { readonly nowMs: number; readonly code: "done"; readonly items: readonly (HeldItem | null)[] };

/** `cancel` is a release by the process that sent the hold: it also stops a copy of that hold that arrives later. */
export type FreeVerb = "settle" | "release" | "cancel" | "renew";

/** "End or renew the hold of this id." */
export interface Free {
  readonly key: string;
  readonly durationMs: number;
  /** The current window by the origin's clock, as far as the caller knows it. */
  readonly sequence: number;
  readonly id: string;
  readonly verb: FreeVerb;
  /** What to count, for `settle`. */
  readonly actual: number;
  /** For `renew`. */
  readonly ttlMs: number;
  /** The component that settlements of the caller are counted under. Only the origin writes it. */
  readonly writer: string;
  /** What the caller knows to be counted under it in this cell: an origin that was emptied continues from it. */
  readonly known: number;
}

/**
 * - `settled`, `late`: counted; counted after the deadline
 * - `released`, `renewed`
 * - `settled-before`, `released-before`: it had ended already, and nothing was changed
 * - `expired`: renewed too late; it never lives again
 * - `unknown`: the origin knows no such hold, and nothing was changed
 */
export type FreeCode =
  | "settled"
  | "late"
  | "released"
  | "renewed"
  | "settled-before"
  | "released-before"
  | "expired"
  | "unknown";

export interface FreedItem {
  readonly code: FreeCode;
  /** What was counted for this id, now or before. */
  readonly counted: number;
  readonly deadlineMs: number;
  /** The cell, with the component of the item's writer. */
  readonly current: OriginCount;
  readonly holds: KeyHolds;
}

/** An item is null if nothing is known of it: it may have been executed. */
export type Freed =
  | { readonly nowMs: number; readonly code: "window" }
  | { readonly nowMs: number; readonly code: "done"; readonly items: readonly (FreedItem | null)[] };

/** The deadline of a hold that is made or renewed now. */
export function deadlineOf(nowMs: number, ttlMs: number): number {
  return Math.ceil((nowMs + ttlMs) / DEADLINE_GRID_MS) * DEADLINE_GRID_MS;
}

export function bucketAt(nowMs: number): number {
  return Math.floor(nowMs / ENDED_BUCKET_MS);
}
