/** The admin store on the three databases, on real servers. */
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { adminStoreConformance } from "../packages/server/src/admin/admin-store-conformance.ts";
import { openAdminStore } from "../packages/server/src/admin/open-admin-store.ts";
import { SYSTEM } from "../packages/server/src/system.ts";
import { oddIdentifiers } from "./odd-identifiers.ts";
import { removeFolder, temporaryFolder } from "./rig/child-processes.ts";
import { MariadbServer } from "./rig/mariadb-server.ts";
import { PostgresServer } from "./rig/postgres-server.ts";

const isDeep = process.env["CI"] === "true";
const identifiers = oddIdentifiers(20_261, isDeep ? 2_000 : 100);

let folder: string;
let mariadb: MariadbServer;
let postgres: PostgresServer;

beforeAll(async () => {
  folder = temporaryFolder();
  mariadb = await MariadbServer.start();
  postgres = await PostgresServer.start();
});

afterAll(async () => {
  await mariadb.stop();
  await postgres.stop();
  removeFolder(folder);
});

const open = (sqlUrl: () => string) => (name: string) =>
  openAdminStore({ sqlUrl: sqlUrl(), dataDir: folder }, SYSTEM, { tablePrefix: `${name}_` });

adminStoreConformance("SQLite", {
  open: (name) => openAdminStore({ sqlUrl: `sqlite:${join(folder, `${name}.db`)}`, dataDir: folder }, SYSTEM),
  oddIdentifiers: identifiers,
});
adminStoreConformance("MariaDB", { open: open(() => mariadb.url()), oddIdentifiers: identifiers });
adminStoreConformance("PostgreSQL", { open: open(() => postgres.url()), oddIdentifiers: identifiers });
