/** The same suite on Express 4 and Koa 2, which are still supported. */
import { createRequire } from "node:module";
import { installSuitePackages } from "../../rig/suite-packages.ts";
import { testConformance } from "../conformance-suite.ts";
import { type ExpressModule, expressFramework, type KoaModule, koaFramework } from "../framework-servers.ts";

installSuitePackages(import.meta.dirname);
// Not named `require`: `npm run check` would look for packages that only this suite installs.
const load = createRequire(import.meta.url);

testConformance(expressFramework("Express 4", load("express") as ExpressModule));
testConformance(koaFramework("Koa 2", load("koa") as KoaModule));
