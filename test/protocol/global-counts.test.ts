/** Spec 004, global counters, on counters in memory. */
import { spec004 } from "./spec-004-suite.ts";

spec004();
