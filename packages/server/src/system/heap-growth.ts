/**
 * How much garbage V8 may leave in the heap of a server before it collects: a fixed part of what is in use.
 *
 * By default V8 weighs its own time against the program's, and on a machine with much memory it lets the heap grow to four times what is
 * in use. In a ten-minute attack that was 500 MiB around 120 MiB in use, so no sizing by what a server holds could be true. A fixed
 * part took 11 % more processor time under that attack (npm run lab -- server-attack).
 *
 * The flag can be set while a program runs: V8 reads it at the end of each full collection.
 */
import { setFlagsFromString } from "node:v8";

/** Percent of what the last full collection found in use. With the young generation, and what is made while one collects, below half. */
const GROWTH_PERCENT = 40;

/** For a process that serves: called before it holds anything. */
export function boundHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
