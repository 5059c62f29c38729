/** Closing, eviction and clocks that go back, on an origin in memory. */
import { spec003Close } from "./close-suite.ts";

spec003Close();
