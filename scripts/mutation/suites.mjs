/**
 * The suites that are run against the mutants of one folder: those beside its source, the specs that speak of it, and as a last resort small
 * worlds of the simulator. None that needs a server, a second or a build.
 */
const SPECS = {
  core: [],
  engine: ["packages/sluice/src/limiter/limiter.test.ts", "test/spec-003*.test.ts", "test/reference.test.ts"],
  origin: ["packages/sluice/src/origin/redis/command-bytes.test.ts", "test/spec-003*.test.ts"],
  global: ["test/spec-000.test.ts", "test/spec-001.test.ts", "test/spec-003-close.test.ts", "test/spec-004.test.ts"],
};
const WORLDS = "packages/sim/src/world/small-worlds.test.ts";

/**
 * Suites that take seconds over some files, and say little of others.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const OWN_ONLY = {
  key: ["key"],
  "key-hash": ["key-hash"],
  "sliding-window": ["sliding-window"],
  "cell-table": ["cell-table"],
  "replay-backlog": ["replay", "replay-order"],
};

/** @param {string} folder */
export function suitesOf(folder) {
  return [`packages/sluice/src/${folder}/*.test.ts`, ...SPECS[/** @type {keyof typeof SPECS} */ (folder)], WORLDS];
}

/**
 * Whether a suite is run for mutants of this file.
 *
 * @param {string} suite
 * @param {string} file
 */
export function isFor(suite, file) {
  return OWN_ONLY[suite]?.includes(file) ?? true;
}
