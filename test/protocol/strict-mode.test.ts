/** Strict mode, on an origin in memory. */
import { strictModeSuite } from "./strict-mode-suite.ts";

strictModeSuite();
