/** Closing, eviction and clocks that go back, on an origin in memory. */
import { closeSuite } from "./close-suite.ts";

closeSuite();
