/** The denial channel, on counters in memory. */
import { denialsSuite } from "./denials-suite.ts";

denialsSuite();
