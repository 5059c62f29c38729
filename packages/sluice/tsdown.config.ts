import { defineConfig } from "tsdown";

/** One line per subpath of the package; `exports` in package.json names the same ones. */
export default defineConfig({
  entry: {
    index: "src/index.ts",
    sim: "src/sim/index.ts",
  },
  format: "esm",
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  hash: false,
  dts: true,
  sourcemap: false,
  clean: true,
});
