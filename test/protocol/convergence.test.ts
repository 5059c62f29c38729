/** Spec 003, convergence within a region, on an origin in memory. */
import { spec003 } from "./spec-003-suite.ts";

spec003();
