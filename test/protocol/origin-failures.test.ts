/** Failures of a region, on an origin in memory. */
import { originFailuresSuite } from "./origin-failures-suite.ts";

originFailuresSuite();
