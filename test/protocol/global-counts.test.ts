/** Global counters, on counters in memory. */
import { globalCountsSuite } from "./global-counts-suite.ts";

globalCountsSuite();
