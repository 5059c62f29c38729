/**
 * The publish floor: how much of a limit a region may keep to itself.
 *
 * The R - 1 other regions may hide (R - 1) * floor of the limit. Half of the error budget is spent on that, so
 * floor = budget / (2 (R - 1)). It never passes 1 / R: R regions just under a higher floor could use the whole limit each
 * without publishing anything. A region that is alone has nobody to inform, and publishes what would matter if a second one
 * started: counts that reach their limit.
 */
export function publishFloor(regionsLive: number, errorBudget: number): number {
  if (regionsLive <= 1) return 1;
  return Math.min(1 / regionsLive, errorBudget / (2 * (regionsLive - 1)));
}

/** What decides whether a count is published: the same for all keys of a round. */
export interface Floor {
  /** The part of a limit that a region may keep to itself. */
  readonly part: number;
  /** Regions that are live, this one included. */
  readonly regionsLive: number;
}

/** Everything is published. */
export const NO_FLOOR: Floor = { part: 0, regionsLive: 1 };

/**
 * What a floor that is rounded up may hide in all other regions together, as a part of the limit. With 10 regions and a limit of
 * 10, each could hide 1: measured, even traffic was then admitted 1.40 times instead of 1.20 (docs/guarantees.md). Up to a tenth,
 * no measured case became worse.
 */
const ROUNDED_UP_MAX = 1 / 10;

/**
 * The largest count that stays unpublished. `part * limit` is rounded up, because most keys with a small limit are requested
 * once or twice and would all be published otherwise; not where what the other regions hide would be a large part of the limit.
 */
export function hiddenMax({ part, regionsLive }: Floor, limit: number): number {
  const roundedUp = Math.ceil(part * limit);
  const mayRoundUp = regionsLive > 1 && (regionsLive - 1) * roundedUp <= limit * ROUNDED_UP_MAX;
  return mayRoundUp ? roundedUp : roundedUp - 1;
}
