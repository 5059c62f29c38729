import { defineConfig } from "tsdown";
import { luaText } from "../../scripts/lua-text.ts";

/** One line per subpath of the package; `exports` in package.json names the same ones. */
export default defineConfig({
  entry: {
    index: "src/index.ts",
    "express-rate-limit": "src/express-rate-limit.ts",
    express: "src/express.ts",
    fastify: "src/fastify.ts",
    fetch: "src/fetch.ts",
    hono: "src/hono.ts",
    internal: "src/internal.ts",
    koa: "src/koa.ts",
    mysql: "src/mysql.ts",
    postgres: "src/postgres.ts",
    redis: "src/redis.ts",
    sqlite: "src/sqlite.ts",
    testing: "src/testing.ts",
  },
  // CommonJS, too: Jest, ts-jest and most applications on NestJS load it.
  format: ["esm", "cjs"],
  platform: "node",
  target: "node20.19",
  fixedExtension: false,
  hash: false,
  dts: true,
  plugins: [luaText()],
  // Comments are in the declarations, where editors show them.
  outputOptions: { comments: { jsdoc: false } },
  sourcemap: false,
  clean: true,
});
