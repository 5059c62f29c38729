/**
 * The publish floor: the part of a limit below which a region keeps its count to itself.
 *
 * What R - 1 other regions may hide is (R - 1) * floor of the limit; half of the error budget is spent on that, so
 * floor = budget / (2 (R - 1)). It never passes 1 / R: R regions just under a higher floor could use the whole limit each
 * unseen. One region alone has nobody to tell, and publishes what would matter if a second one came.
 */
export function publishFloor(regionsLive: number, errorBudget: number): number {
  if (regionsLive <= 1) return 1;
  return Math.min(1 / regionsLive, errorBudget / (2 * (regionsLive - 1)));
}
