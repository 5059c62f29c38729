/** Allows near a limit are answered once an origin that is near has their cost; `degraded` if it does not confirm that in time. */
import { type Decision, decision } from "../engine/decision.ts";
import type { Waited } from "../engine/gate.ts";
import type { Key } from "../engine/key.ts";
import { TALLY, type Tally } from "../engine/tally.ts";
import type { NearLimit } from "../origin/near-limit.ts";

interface Item {
  readonly key: Key;
  readonly cost: number;
}

/** The answers to requests that waited and were decided together. A request that was decided without a read is not reported. */
export async function reported(
  nearLimit: NearLimit,
  tally: Tally,
  items: readonly Item[],
  decisions: readonly Decision[],
  waited: readonly Waited[],
): Promise<readonly Decision[]> {
  const isDue = decisions.map(({ reason, remaining, limit }, i) => {
    const isCounted = reason === "allowed" && items[i]!.cost > 0;
    return isCounted && waited[i]!.isOk && nearLimit.isNear(remaining, limit);
  });
  const keys = items.filter((_, i) => isDue[i]).map(({ key }) => key);
  if (keys.length === 0 || (await nearLimit.report(keys, waited[0]!.arrivedMs))) return decisions;
  return decisions.map((one, i) => {
    if (isDue[i] !== true || one.degraded) return one;
    tally.add(TALLY.degraded);
    const { limit, remaining, reset, current, source } = one;
    return decision(true, limit, remaining, reset, current, "allowed", source, true, 0);
  });
}
