/**
 * Whether another server runs on the same data folder. Without Redis each of them counts alone, so a limit would hold once per
 * server: nothing else would tell the operator.
 *
 * The claim is a lock of the operating system on a file, held through SQLite: it ends with the process, however that ends, so no file
 * that a crash leaves behind can block a start. Only servers take it (the parent, for all of its workers): commands open the store
 * beside a server. It guards no data; the store does that itself.
 */
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { SQLITE_DRIVER, type SqliteDatabase } from "sluice/internal";

export interface FolderClaim {
  /** Whether another server had it. */
  readonly isShared: boolean;
  release(): void;
}

/** A server that is about to end, or a doctor that looks, has the lock for a moment. */
const TRIES = 10;
const TRY_AGAIN_MS = 100;

export async function claimFolder(folder: string): Promise<FolderClaim> {
  for (let left = TRIES; ; left--) {
    const database = await lock(folder);
    if (database !== null) return { isShared: false, release: () => void database.close() };
    if (left === 1) return { isShared: true, release: () => {} };
    await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
  }
}

/** For the doctor. Makes nothing. */
export async function isClaimed(folder: string): Promise<boolean> {
  if (!existsSync(fileOf(folder))) return false;
  const database = await lock(folder);
  database?.close();
  return database === null;
}

/** Null: another process has it. */
async function lock(folder: string): Promise<SqliteDatabase | null> {
  const Database = await SQLITE_DRIVER.load();
  if (!existsSync(fileOf(folder))) closeSync(openSync(fileOf(folder), "a", 0o600));
  const database = new Database(fileOf(folder));
  try {
    database.exec("PRAGMA busy_timeout = 0");
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    if (SQLITE_DRIVER.failureOf(error).kind === "lock") return null;
    throw error;
  }
}

function fileOf(folder: string): string {
  return join(folder, "server.lock");
}
