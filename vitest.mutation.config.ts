/**
 * The suites that hunt the mutants of one folder (SLUICE_MUTANTS): those beside its source, and the specs that speak of it.
 * A mutant costs as long as its suites take to load, so none is here for company: no campaigns, no servers, no memory.
 */
import { defineConfig } from "vitest/config";
import base from "./vitest.config.ts";

const SPECS: Readonly<Record<string, readonly string[]>> = {
  engine: ["packages/sluice/src/limiter/limiter.test.ts", "test/spec-003-strict.test.ts"],
  origin: ["test/spec-003*.test.ts"],
  global: ["test/spec-000.test.ts", "test/spec-001.test.ts", "test/spec-004.test.ts"],
};
const folder = process.env["SLUICE_MUTANTS"] ?? "engine";

export default defineConfig({
  resolve: base.resolve ?? {},
  test: {
    include: [`packages/sluice/src/${folder}/**/*.test.ts`, ...(SPECS[folder] ?? [])],
    exclude: ["**/shared-origin.test.ts", "**/redis-*.test.ts", "**/node_modules/**"],
    testTimeout: 60_000,
  },
});
