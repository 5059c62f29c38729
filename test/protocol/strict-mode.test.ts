/** Spec 003, strict mode, on an origin in memory. */
import { spec003Strict } from "./spec-003-strict-suite.ts";

spec003Strict();
