/** The simulator's, for long random runs: the same seed gives the same run. */
export { SeededRandom } from "../../packages/sim/src/model/seeded-random.ts";
