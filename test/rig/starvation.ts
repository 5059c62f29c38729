/** For tests. The code is in starvation.mjs, because worker.mjs runs without a compiler. */
export { STARVED_MAX_MS, starvedMs, watched } from "./starvation.mjs";
