/** Spec 003, strict mode, on an origin in memory. */
import { spec003Strict } from "./strict-mode-suite.ts";

spec003Strict();
