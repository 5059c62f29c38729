import { defineConfig } from "tsdown";

/** The command line alone: nothing of it is imported by others, so there are no declarations. */
export default defineConfig({
  entry: { main: "src/main.ts" },
  format: "esm",
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  hash: false,
  dts: false,
  sourcemap: false,
  clean: true,
  // typebox: loading all of it takes 0.4 s of every start; what is used of it is 9 kB. The simulator is not published.
  deps: { alwaysBundle: ["typebox", "@sluice/sim"], onlyBundle: ["typebox", "@sluice/sim"] },
});
