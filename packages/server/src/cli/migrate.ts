/** `sluice migrate`: makes the tables of the admin store and of the global counters, or brings them up to date. */
import type { Command } from "commander";
import { adminTables, migrateAdmin } from "../admin/admin-schema.ts";
import { openAdminLink, sqlitePath } from "../admin/open-admin-store.ts";
import type { ServerSettings } from "../config/settings.ts";
import { Failure } from "../input/failure.ts";
import { SYSTEM } from "../system/system.ts";
import type { Console } from "../terminal/console.ts";
import { placedCommand } from "./store-command.ts";

/** The version that was found, 0: none; and the one that is there now. */
interface Report {
  readonly from: number;
  readonly to: number;
}

export function migrateCommand(console: Console): Command {
  const description =
    "Create the tables that servers need, or migrate them to this release. Servers do it themselves if their database user has the right to; " +
    "otherwise run this as a user with that right, before each new release.";
  return placedCommand(console, { name: "migrate", description }, async (settings) => {
    const admin = await migrateStore(settings);
    const counters = settings.sqlUrl === null ? null : await migrateCounters(settings.sqlUrl, settings);
    const lines = [
      textOf("keys, namespaces and overrides", admin),
      ...(counters ? [textOf("counters", counters)] : []),
    ];
    return { json: { admin, counters }, text: lines.join("\n") };
  });
}

async function migrateStore({ sqlUrl, sqlTls, dataDir }: ServerSettings): Promise<Report> {
  const link = await openAdminLink({ sqlUrl, dataDir, tls: sqlTls }, SYSTEM);
  try {
    return await migrateAdmin(link, adminTables(), SYSTEM.clock.wallMs());
  } finally {
    await link.close();
  }
}

async function migrateCounters(sqlUrl: string, { sqlTls }: ServerSettings): Promise<Report> {
  const server = { url: sqlUrl, tls: sqlTls ?? false };
  try {
    switch (new URL(sqlUrl).protocol) {
      case "sqlite:":
        return await (await import("sluice/sqlite")).migrateSqlite({ path: sqlitePath(sqlUrl) });
      case "mysql:":
      case "mariadb:":
        return await (await import("sluice/mysql")).migrateMysql(server);
      default:
        return await (await import("sluice/postgres")).migratePostgres(server);
    }
  } catch (error) {
    throw new Failure(`the tables of the counters: ${(error as Error).message}`, "docs/operating.md lists the rights");
  }
}

function textOf(what: string, { from, to }: Report): string {
  if (from === to) return `${what}: at version ${to} already`;
  return from === 0 ? `${what}: created, version ${to}` : `${what}: from version ${from} to ${to}`;
}
