/** Spec 000, the denial channel, on counters in memory. */
import { spec000 } from "./spec-000-suite.ts";

spec000();
