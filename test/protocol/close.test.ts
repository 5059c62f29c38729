/** Closing, eviction and clocks that go back, on an origin in memory. */
import { spec003Close } from "./spec-003-close-suite.ts";

spec003Close();
