/** Spec 000, the denial channel, on counters in memory. */
import { spec000 } from "./denials-suite.ts";

spec000();
