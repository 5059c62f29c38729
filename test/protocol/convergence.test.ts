/** Spec 003, convergence within a region, on an origin in memory. */
import { spec003 } from "./convergence-suite.ts";

spec003();
