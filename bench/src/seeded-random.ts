/** Random numbers that a seed decides: the order of keys and of contenders is the same in every run of one seed. */
import { SeededRandom } from "../../packages/sim/src/model/seeded-random.ts";

export type Random = () => number;

/** Numbers from 0 up to, but not including, 1: the simulator's. */
export function seededRandom(seed: number): Random {
  const random = new SeededRandom(seed);
  return () => random.fraction();
}

/** Shuffles in place (Fisher-Yates). */
export function shuffle(items: unknown[], random: Random): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [items[i], items[j]] = [items[j], items[i]];
  }
}
