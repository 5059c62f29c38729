/** How much of its limit a slot has used, in a few levels: for orders that put the slots nearest to their limit first. */
import type { Slot } from "../core/brands.ts";
import type { CellTable } from "./cell-table.ts";

/** How finely slots are ordered by the use of their limit. */
export const USE_LEVELS = 8;

/** 0: nearest to the limit, or beyond it. The last level is the least used. */
export function useLevel(table: CellTable, slot: Slot): number {
  const use = table.viewCurrent(slot) / table.limitLow(slot);
  return USE_LEVELS - 1 - Math.min(USE_LEVELS - 1, Math.floor(use * USE_LEVELS));
}
