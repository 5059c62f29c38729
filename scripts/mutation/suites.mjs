/**
 * The suites that are run against the mutants of one folder: those beside its source, the suites of the protocol that concern it, and as a last resort small
 * worlds of the simulator. None that needs a server, a second or a build.
 */
const CONVERGENCE = ["convergence", "strict-mode", "origin-failures", "close"].map(
  (name) => `test/protocol/${name}.test.ts`,
);
const PROTOCOL = {
  core: [],
  engine: ["packages/sluice/src/limiter/limiter.test.ts", ...CONVERGENCE, "test/protocol/reference.test.ts"],
  origin: ["packages/sluice/src/origin/redis/command-bytes.test.ts", ...CONVERGENCE],
  global: ["denials", "request-path", "close", "global-counts"].map((name) => `test/protocol/${name}.test.ts`),
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
  return [
    `packages/sluice/src/${folder}/*.test.ts`,
    ...PROTOCOL[/** @type {keyof typeof PROTOCOL} */ (folder)],
    WORLDS,
  ];
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
