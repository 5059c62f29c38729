/** Spec 003, failure behaviour, on an origin in memory. */
import { spec003Failures } from "./origin-failures-suite.ts";

spec003Failures();
