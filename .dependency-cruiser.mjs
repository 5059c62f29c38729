/**
 * The import arrows: core <- engine <- { origin, global } <- limiter <- { middleware, server } <- main.
 *
 * Each layer below lists what it may import inside the library; everything else is refused, so a new folder has to be
 * named here first. Tests may reach anywhere, but take part in no cycle. Type imports count like all others.
 */
const src = "^packages/sluice/src/";
/** Tests, and the conformance suites that they run. */
const tests = "([.]test(-d)?|-conformance)[.]ts$";

/** Folder of the library -> the folders it may import, itself included. */
const arrows = {
  core: ["core"],
  engine: ["core", "engine"],
  origin: ["core", "engine", "origin"],
  global: ["core", "engine", "global"],
  limiter: ["core", "engine", "origin", "global", "limiter"],
  middleware: ["core", "engine", "origin", "global", "limiter", "middleware"],
  sim: ["core", "engine", "origin", "global", "limiter", "middleware", "sim"],
};

/** Prefix of an adapter's file name -> the modules which only such a file may import. */
const drivers = {
  redis: "^@redis/|^redis$|node_modules/(@redis|redis)/",
  ioredis: "^ioredis$|node_modules/ioredis/",
  mysql: "^mysql2?(/|$)|node_modules/mysql2?/",
  postgres: "^(pg|postgres)(/|$)|node_modules/(pg|postgres|@types/pg)/",
  sqlite:
    "^(node:)?sqlite$|^(better-sqlite3|libsql|@libsql/.*)$|node_modules/(better-sqlite3|libsql|@libsql|@types/better-sqlite3)/",
};

/** What adapters share is theirs (sql-*.ts), and only they load it. */
const adapters = `/(${[...Object.keys(drivers), "sql"].join("|")})-[^/]+[.]ts$`;
const external = ["npm", "npm-dev", "npm-peer", "npm-optional", "npm-bundled", "npm-no-pkg", "npm-unknown", "core"];

export default {
  forbidden: [
    {
      name: "no-cycles",
      comment: "Two modules that import each other are one module in two files.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-unresolved",
      comment: "An import that leads nowhere. node:sqlite is not in every Node this project supports.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^node:sqlite$" },
    },
    ...Object.entries(arrows).map(([layer, allowed]) => ({
      name: `${layer}-imports-downwards`,
      comment: `${layer} may import ${allowed.join(", ")} and nothing else of the library.`,
      severity: "error",
      from: { path: `${src}${layer}/`, pathNot: tests },
      to: { path: "^(packages|test|bench|scripts|examples)/", pathNot: `${src}(${allowed.join("|")})/` },
    })),
    {
      name: "known-folders-only",
      comment: "A source file outside the folders named in the arrows, and not the entry.",
      severity: "error",
      from: {},
      to: { path: src, pathNot: [`${src}(${Object.keys(arrows).join("|")})/`, `${src}index[.]ts$`] },
    },
    {
      name: "entry-imports-the-library",
      comment: "The entry gathers what is public: not the simulator, not an adapter, nothing outside the library.",
      severity: "error",
      from: { path: `${src}index[.]ts$` },
      to: { path: "^(packages|test|bench|scripts|examples)/", pathNot: `${src}(core|engine|origin|global|limiter)/` },
    },
    {
      name: "entry-loads-no-adapter",
      comment: "A driver is loaded only by the subpath that needs it.",
      severity: "error",
      from: { path: [`${src}index[.]ts$`, `${src}(limiter|middleware)/`], pathNot: [tests, adapters] },
      to: { path: adapters },
    },
    {
      name: "server-uses-the-library-by-its-entries",
      comment: "What the server needs of the library is public, or it would not run where the two are installed.",
      severity: "error",
      from: { path: "^packages/server/" },
      to: {
        path: "^(packages/sluice|test|bench|scripts|examples)/",
        pathNot: `${src}((sim/)?index|limiter/(redis|mysql|postgres|sqlite)-store)[.]ts$`,
      },
    },
    {
      name: "source-imports-no-test",
      comment: "What is published does not lean on a test.",
      severity: "error",
      from: { path: src, pathNot: tests },
      to: { path: tests },
    },
    {
      name: "library-imports-nothing-external",
      comment: "No npm package and no Node builtin, except in an adapter (<driver>-*.ts) and the middleware.",
      severity: "error",
      from: { path: src, pathNot: [tests, adapters, `${src}middleware/`] },
      to: { dependencyTypes: external },
    },
    ...Object.entries(drivers).map(([driver, modules]) => ({
      name: `${driver}-stays-in-its-adapter`,
      comment: `Only ${driver}-*.ts imports this driver.`,
      severity: "error",
      from: { path: "^packages/[^/]+/src/", pathNot: [tests, `/${driver}-[^/]+[.]ts$`] },
      to: { path: modules },
    })),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    exclude: { path: "/dist/" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["types", "import", "node", "default"],
      extensions: [".ts", ".mjs", ".js", ".d.ts"],
    },
  },
};
