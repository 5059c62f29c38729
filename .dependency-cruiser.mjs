/**
 * The import arrows: core <- engine <- { origin, global } <- limiter <- { middleware, entries } <- { sim, server }.
 *
 * Each layer below lists what it may import inside its package; everything else is refused, so a new folder has to be
 * named here first. Tests may reach anywhere, but take part in no cycle. Type imports count like all others. Cycles between
 * folders are found by scripts/folder-cycles.mjs: a rule with the scope "folder" misses those of a folder and one inside it.
 */
const src = "^packages/sluice/src/";
const sim = "^packages/sim/src/";
/** Tests, and the conformance suites that they run. */
const tests = "([.]test(-d)?|-conformance)[.]ts$";
/** Everything in this repository that is not installed from npm. */
const repository = "^(packages|test|bench|scripts|examples)/";

/** Folder of the library -> the folders it may import, itself included. */
const arrows = {
  core: ["core"],
  engine: ["core", "engine"],
  origin: ["core", "engine", "origin"],
  global: ["core", "engine", "global"],
  limiter: ["core", "engine", "origin", "global", "limiter"],
  middleware: ["core", "engine", "origin", "global", "limiter", "middleware"],
};

/** The same for the simulator. */
const simArrows = {
  model: ["model"],
  checker: ["model", "checker"],
  world: ["model", "checker", "world"],
  campaign: ["model", "checker", "world", "campaign"],
};

/** The entries, one file per subpath of the package: the public ones, and the one that is for the server (docs/decisions/0024). */
const entries = `${src}(index|internal|redis|mysql|postgres|sqlite|express|fastify|fetch|hono|koa|express-rate-limit|testing)[.]ts$`;
/** Where the library's drivers are: each below its port, with what several of them share. */
const driverFolders = `${src}(origin/redis|global/sql)/`;

/** Driver -> its folder in the library, and the modules which only that folder may import. */
const drivers = {
  redis: { folder: "origin/redis", modules: "^@redis/|^redis$|node_modules/(@redis|redis)/" },
  ioredis: { folder: "origin/redis", modules: "^ioredis$|node_modules/ioredis/" },
  mysql: { folder: "global/sql/mysql", modules: "^mysql2?(/|$)|node_modules/mysql2?/" },
  postgres: {
    folder: "global/sql/postgres",
    modules: "^(pg|postgres)(/|$)|node_modules/(pg|postgres|@types/pg)/",
  },
  sqlite: {
    folder: "global/sql/sqlite",
    modules:
      "^(node:)?sqlite$|^(better-sqlite3|libsql|@libsql/.*)$|node_modules/(better-sqlite3|libsql|@libsql|@types/better-sqlite3)/",
  },
};

const external = ["npm", "npm-dev", "npm-peer", "npm-optional", "npm-bundled", "npm-no-pkg", "npm-unknown", "core"];

/** The server's rules stand apart from the library's. */
const serverSrc = "^packages/server/src/";

/**
 * The folders of the server, the lowest first: a file imports only from its own folder and from those listed before it, so that there is no
 * cycle between folders. Tests are no exception. A subfolder has its own line. A new folder has to be named here first.
 */
const serverFolders = [
  "system",
  "text",
  "input",
  "terminal",
  "log",
  "client",
  "admin",
  "access",
  "metrics",
  "top-identifiers",
  "usage",
  "live",
  "traces",
  "decisions",
  "contract",
  "http/routes",
  "http/pages",
  "http/pipeline",
  "http",
  "config",
  "serve",
  "tools/load",
  "tools/top",
  "tools/doctor",
  "tools/plan",
  "tools/report",
  "cli",
];
const filesOf = (/** @type {readonly string[]} */ folders) => `${serverSrc}(${folders.join("|")})/[^/]+$`;

const serverRules = [
  ...serverFolders.map((folder, at) => ({
    name: `server-${folder.replace("/", "-")}-imports-downwards`,
    comment: `${folder} of the server may import ${serverFolders.slice(0, at + 1).join(", ")} and nothing else of the server.`,
    severity: "error",
    from: { path: filesOf([folder]) },
    to: { path: serverSrc, pathNot: filesOf(serverFolders.slice(0, at + 1)) },
  })),
  {
    name: "server-known-folders-only",
    comment:
      "A source file outside the folders named in the list. Only main.ts stands at the root, and nothing imports it.",
    severity: "error",
    from: {},
    to: { path: serverSrc, pathNot: filesOf(serverFolders) },
  },
  {
    name: "server-no-other-folders",
    comment: "The same for files that nobody imports, such as tests.",
    severity: "error",
    from: { path: serverSrc, pathNot: [filesOf(serverFolders), `${serverSrc}main[.]ts$`] },
    to: {},
  },
];

export default {
  forbidden: [
    ...serverRules,
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
      to: { path: repository, pathNot: `${src}(${allowed.join("|")})/` },
    })),
    ...Object.entries(simArrows).map(([layer, allowed]) => ({
      name: `sim-${layer}-imports-downwards`,
      comment: `${layer} may import ${allowed.join(", ")} of the simulator, and the library by its entry.`,
      severity: "error",
      from: { path: `${sim}${layer}/`, pathNot: [tests, `${sim}model/internals[.]ts$`] },
      to: { path: repository, pathNot: [`${sim}(${allowed.join("|")})/`, `${src}index[.]ts$`] },
    })),
    {
      name: "sim-reaches-inside-the-library-in-one-file",
      comment: "model/internals.ts lists what the simulator takes from inside the library, and takes nothing else.",
      severity: "error",
      from: { path: `${sim}model/internals[.]ts$` },
      to: { path: repository, pathNot: `${src}(core|engine|origin|global)/` },
    },
    {
      name: "sim-entry-imports-the-simulator",
      comment: "The entry of the simulator gathers what others use of it.",
      severity: "error",
      from: { path: `${sim}index[.]ts$` },
      to: { path: repository, pathNot: `${sim}(${Object.keys(simArrows).join("|")})/` },
    },
    {
      name: "known-folders-only",
      comment: "A source file outside the folders named in the arrows, and not an entry.",
      severity: "error",
      from: {},
      to: {
        path: [src, sim],
        pathNot: [
          `${src}(${Object.keys(arrows).join("|")})/`,
          entries,
          `${sim}(${Object.keys(simArrows).join("|")})/`,
          `${sim}index[.]ts$`,
        ],
      },
    },
    {
      name: "entries-import-the-library",
      comment: "An entry gathers what is public: not another entry, nothing outside the library.",
      severity: "error",
      from: { path: entries },
      to: { path: repository, pathNot: `${src}(core|engine|origin|global|limiter|middleware)/` },
    },
    {
      name: "drivers-are-loaded-by-their-entry",
      comment:
        "A driver is loaded only by the subpath that needs it. The internal one loads each when it is asked for.",
      severity: "error",
      from: { path: src, pathNot: [tests, driverFolders, `${src}(internal|redis|mysql|postgres|sqlite)[.]ts$`] },
      to: { path: driverFolders },
    },
    {
      name: "drivers-do-not-know-each-other",
      comment:
        "An entry loads its own driver, and a driver loads no other. What drivers share is in the folder above them.",
      severity: "error",
      from: { path: `${src}(?:origin/|global/sql/)?(redis|mysql|postgres|sqlite)(?:/|[.]ts$)`, pathNot: tests },
      to: { path: `${src}(origin|global/sql)/[^/]+/`, pathNot: "/$1/" },
    },
    {
      name: "server-uses-the-library-by-its-entries",
      comment: "What the server needs of the library is public, or it would not run where the two are installed.",
      severity: "error",
      from: { path: "^packages/server/" },
      to: {
        path: "^(packages/(sluice|sim)|test|bench|scripts|examples)/",
        pathNot: [entries, `${sim}index[.]ts$`],
      },
    },
    {
      name: "internal-entry-is-for-the-server",
      comment: "Everything else uses what is public, or the source itself.",
      severity: "error",
      from: { path: repository, pathNot: "^packages/server/" },
      to: { path: `${src}internal[.]ts$` },
    },
    {
      name: "source-imports-no-test",
      comment: "What is published does not lean on a test.",
      severity: "error",
      from: { path: [src, sim], pathNot: tests },
      to: { path: tests },
    },
    {
      name: "library-imports-nothing-external",
      comment: "No npm package and no Node builtin, except in the folders of drivers and the middleware.",
      severity: "error",
      from: { path: [src, sim], pathNot: [tests, driverFolders, `${src}middleware/`] },
      to: { dependencyTypes: external },
    },
    ...Object.entries(drivers).map(([driver, { folder, modules }]) => ({
      name: `${driver}-stays-in-its-folder`,
      comment: `In the library only ${folder} imports this driver. In the server only redis-*.ts has a driver: Redis.`,
      severity: "error",
      from: {
        path: "^packages/[^/]+/src/",
        pathNot: [
          tests,
          `${src}${folder}/`,
          ...(driver === "redis" ? ["^packages/server/src/.*/redis-[^/]+[.]ts$"] : []),
        ],
      },
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
