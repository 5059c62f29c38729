/**
 * Mutation testing, one folder of the library at a time: `npm run lab -- mutation` (scripts/lab/mutation.ts) names it.
 *
 * Not mutated: drivers (the folders below a folder) and the bridge between processes, which say nothing without a server, and the
 * conformance suites, which are tests.
 */
const folder = process.env["SLUICE_MUTANTS"] ?? "engine";
const source = `packages/sluice/src/${folder}`;

export default {
  testRunner: "sluice",
  plugins: ["./scripts/mutation/runner.mjs", "./scripts/mutation/survivors.mjs"],
  mutate: [
    `${source}/*.ts`,
    `!${source}/*.test.ts`,
    `!${source}/*-conformance.ts`,
    `!${source}/shared-*.ts`,
    // The one part of a driver that has unit tests for all that it does.
    ...(folder === "origin" ? [`${source}/redis/command-bytes.ts`] : []),
  ],
  coverageAnalysis: "perTest",
  concurrency: 2,
  // Some tests look at what the collector leaves.
  testRunnerNodeArgs: ["--expose-gc"],
  incremental: true,
  incrementalFile: `node_modules/.cache/mutants-${folder}.json`,
  tempDirName: ".stryker-tmp",
  reporters: ["json", "progress-append-only", "survivors"],
  jsonReporter: { fileName: `node_modules/.cache/mutation-${folder}.json` },
  // The runner ends what is endless itself, by the processor's time (scripts/mutation/watchdog.mjs): a busy machine kills no mutant.
  timeoutMS: 3_600_000,
  dryRunTimeoutMinutes: 60,
  ignorePatterns: ["biome.json", "**/*.md", "bench", "docs", "examples", "packages/*/dist", "packages/server"],
};
