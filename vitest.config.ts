import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./scripts/longest-first.ts";
import { luaText } from "./scripts/lua-text.ts";
import { TallyReporter } from "./scripts/tally-reporter.ts";

const source = (path: string): string => fileURLToPath(new URL(`./packages/sluice/src/${path}`, import.meta.url));

export default defineConfig({
  plugins: [luaText()],
  resolve: {
    // Suites run on the source; tsconfig.json has the same lines under "paths".
    alias: [
      { find: /^sluice$/, replacement: source("index.ts") },
      { find: /^sluice\/(mysql|postgres|redis|sqlite)$/, replacement: source("$1.ts") },
    ],
  },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts", "scripts/**/*.test.ts"],
    pool: "forks",
    // The runner would leave one of two cores idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    execArgv: ["--expose-gc"],
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default", new TallyReporter()],
  },
});
