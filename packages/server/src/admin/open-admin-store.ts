/** The admin store that a configuration names: the database of the global counters, or a SQLite file of its own. */
import { join } from "node:path";
import { InputError } from "../input/input-error.ts";
import type { Environment } from "../system/system.ts";
import { mysqlAdmin, postgresAdmin, type SqlManner } from "./server-admin.ts";
import { type SqlAdminOptions, SqlAdminStore } from "./sql-admin-store.ts";
import { type AdminDriver, SqlLink } from "./sql-link.ts";
import { sqliteAdmin } from "./sqlite-admin.ts";

export interface AdminPlace {
  /** `mysql://`, `postgres://` or `sqlite:`; null: `sluice.db` in the data folder. */
  readonly sqlUrl: string | null;
  readonly dataDir: string;
  readonly tls?: SqlManner["tls"];
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;

/** Opens no connection yet. Rejects with InputError if the place cannot be meant. */
export async function openAdminStore(
  place: AdminPlace,
  environment: Environment,
  options: SqlAdminOptions = {},
): Promise<SqlAdminStore> {
  const driver = await driverOf(place);
  const links = { reads: new SqlLink(driver, environment), work: new SqlLink(driver, environment) };
  return new SqlAdminStore(links, environment, options);
}

export async function openAdminLink(place: AdminPlace, environment: Environment): Promise<SqlLink> {
  return new SqlLink(await driverOf(place), environment);
}

/** A driver is loaded only where it is needed. */
async function driverOf({ sqlUrl, dataDir, tls = null, timeoutMs = TIMEOUT_MS }: AdminPlace): Promise<AdminDriver> {
  if (sqlUrl === null) return sqliteAdmin(join(dataDir, "sluice.db"));
  const scheme = /^[a-z]+:/i.exec(sqlUrl)?.[0].toLowerCase();
  switch (scheme) {
    case "sqlite:":
      return sqliteAdmin(sqlitePath(sqlUrl));
    case "mysql:":
    case "mariadb:":
      return mysqlAdmin(sqlUrl, { tls, timeoutMs });
    case "postgres:":
    case "postgresql:":
      return postgresAdmin(sqlUrl, { tls, timeoutMs });
    default:
      throw new InputError(
        `the SQL URL must begin with mysql://, postgres:// or sqlite:; got ${scheme ?? "a text that is not a URL"}`,
        "see docs/configuration.md",
      );
  }
}

/** `sqlite:file.db`, `sqlite:./file.db`, `sqlite:/folder/file.db`, `sqlite:///folder/file.db`. */
export function sqlitePath(url: string): string {
  const path = url.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "");
  if (path !== "" && path !== ":memory:" && !path.startsWith("//")) return path;
  throw new InputError(
    `a SQLite URL must be sqlite: and the path of a file; got ${JSON.stringify(url)}`,
    "sqlite:./sluice.db",
  );
}
