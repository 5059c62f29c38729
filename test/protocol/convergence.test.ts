/** Convergence within a region, on an origin in memory. */
import { convergenceSuite } from "./convergence-suite.ts";

convergenceSuite();
