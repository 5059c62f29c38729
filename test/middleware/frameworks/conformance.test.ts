/** One suite for every framework that `npm test` covers. */
import { testConformance } from "../conformance-suite.ts";
import { FRAMEWORKS } from "./frameworks.ts";

for (const framework of FRAMEWORKS) testConformance(framework);
