import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./scripts/longest-first.ts";
import { luaText } from "./scripts/lua-text.ts";
import { TallyReporter } from "./scripts/tally-reporter.ts";
import { byLength } from "./test/rig/length.ts";

const source = (path: string): string => fileURLToPath(new URL(`./packages/sluice/src/${path}`, import.meta.url));

/**
 * The runner would leave one of two cores idle. In the short form most suites wait for servers and timers longer than they compute: two
 * workers more than cores keep the cores busy. CI=true and the lab judge times, and have no more workers than cores.
 */
function workersMax(): number {
  const cores = availableParallelism();
  return byLength({
    fast: Math.max(2, cores),
    short: cores + 2,
    ci: Math.max(2, cores - 1),
    lab: Math.max(2, cores - 1),
  });
}

export default defineConfig({
  plugins: [luaText()],
  resolve: {
    // Suites run on the source; tsconfig.json has the same lines under "paths".
    alias: [
      { find: /^sluice$/, replacement: source("index.ts") },
      { find: /^sluice\/([a-z-]+)$/, replacement: source("$1.ts") },
    ],
  },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts", "scripts/**/*.test.ts"],
    // Suites that install whole applications, or take minutes: with CI=true and in the lab only.
    exclude: [...configDefaults.exclude, ...byLength({ short: ["**/*.ci.test.ts"], ci: [], lab: [] })],
    pool: "forks",
    maxWorkers: workersMax(),
    execArgv: ["--expose-gc"],
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default", new TallyReporter()],
  },
});
