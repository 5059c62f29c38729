/**
 * The floor as an `async` function: what a promise and its `await` cost by themselves. It is given a floor that was
 * loaded as a second copy of floor.ts, so that neither runs on what the optimiser learned from the other.
 */
import type { Instance, Load } from "./contender.ts";
import type { createFloor } from "./floor.ts";

type Floor = ReturnType<typeof createFloor>;
type FloorAsync = Instance<string, ReturnType<Floor["call"]>>;

export function behindAsync(create: typeof createFloor): (load: Load) => FloorAsync {
  return (load) => {
    const floor = create(load);
    const { call } = floor;
    return { ...floor, call: async (key) => call(key) };
  };
}
