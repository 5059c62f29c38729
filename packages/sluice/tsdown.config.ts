import { defineConfig } from "tsdown";
import { luaText } from "../../scripts/lua-text.ts";

/** One line per subpath of the package; `exports` in package.json names the same ones. */
export default defineConfig({
  entry: {
    index: "src/index.ts",
    mysql: "src/limiter/mysql-store.ts",
    postgres: "src/limiter/postgres-store.ts",
    redis: "src/limiter/redis-store.ts",
    sim: "src/sim/index.ts",
    sqlite: "src/limiter/sqlite-store.ts",
  },
  format: "esm",
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  hash: false,
  dts: true,
  plugins: [luaText()],
  sourcemap: false,
  clean: true,
});
