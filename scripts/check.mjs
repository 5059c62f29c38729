/** Everything that can be said about the source without running it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root, runTogether } from "./steps.mjs";
import { installFolders, SUITE_FOLDERS } from "./suite-packages.mjs";

const folders = ["packages", "test", "bench"].filter((folder) => existsSync(join(root, folder)));

// The types of some suites are in packages of their own.
const failure = installFolders(SUITE_FOLDERS);
if (failure !== undefined) {
  console.error(failure);
  process.exit(1);
}

const isGreen = await runTogether([
  { name: "promises", command: "eslint --max-warnings 0 ." },
  { name: "types", command: "tsc -p tsconfig.json" },
  {
    name: "types, published",
    command: "tsc -p packages/sluice && tsc -p packages/sim && tsc -p packages/server && tsc -p packages/page",
  },
  { name: "import arrows", command: `depcruise --config .dependency-cruiser.mjs ${folders.join(" ")}` },
  { name: "folder cycles", command: "node scripts/folder-cycles.mjs" },
  { name: "dead code", command: "knip --no-config-hints" },
  { name: "format and lint", command: "biome ci --colors=off --error-on-warnings ." },
]);

process.exitCode = isGreen ? 0 : 1;
