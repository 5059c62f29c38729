/** Spec 004, global counters, on counters in memory. */
import { spec004 } from "./global-counts-suite.ts";

spec004();
