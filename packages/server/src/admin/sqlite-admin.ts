/**
 * SQLite for the admin store, through the driver that the counters use, too. Several processes may share the file.
 *
 * A statement blocks this process, so none waits for a lock: it fails at once, and sql-link.ts tries again.
 */
import { closeSync, existsSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { SQLITE_DRIVER } from "sluice/internal";
import { makeFolder } from "../system/folder.ts";
import { adminDialect } from "./admin-dialect.ts";
import { type AdminConnection, type AdminDriver, failureKind, type SqlRow } from "./sql-link.ts";

const IS_QUESTION = /^\s*SELECT/i;

export function sqliteAdmin(path: string): AdminDriver {
  return {
    dialect: adminDialect(SQLITE_DRIVER.dialect),
    timeoutMs: null,
    isBlocking: true,
    open: () => open(path),
    kindOf: (error) => failureKind(SQLITE_DRIVER.failureOf(error).kind),
  };
}

async function open(path: string): Promise<AdminConnection> {
  makeFile(path);
  // Who may come in must not change back after a crash of the machine.
  const database = await SQLITE_DRIVER.open(path, "FULL");
  return {
    run: async (text, ...values) => {
      if (IS_QUESTION.test(text)) return database.prepare(text).all(...values) as SqlRow[];
      // Not prepared where it need not be: a BEGIN that finds a lock would stay "in progress" in libsql, and no COMMIT is possible then.
      if (values.length === 0) database.exec(text);
      else database.prepare(text).run(...values);
      return [];
    },
    destroy: () => {
      database.close();
    },
  };
}

/** For the owner's eyes: a short preset key could be guessed from its hash. The files beside it take the same rights. */
function makeFile(path: string): void {
  makeFolder(dirname(path));
  // Never opened if it is there: to close a file drops every POSIX lock that this process has on it, those of SQLite's other connections too.
  // Another process would then take the database for unused, and delete the log that this one goes on writing to.
  if (existsSync(path)) return;
  closeSync(openSync(path, "a", 0o600));
}
