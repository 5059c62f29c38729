/** The folder of an embedded store: its owner's alone, and known to be usable before anything else starts. */
import { accessSync, constants, mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { sqlitePath } from "../admin/open-admin-store.ts";
import type { ServerSettings } from "../config/settings.ts";
import { Failure } from "../failure.ts";

export function prepareDataDir({ sqlUrl, dataDir }: Pick<ServerSettings, "sqlUrl" | "dataDir">): void {
  if (sqlUrl === null) prepare(dataDir, "--data DIR, or SLUICE_DATA");
  else if (sqlUrl.startsWith("sqlite:")) prepare(dirname(sqlitePath(sqlUrl)), "in the URL of the database");
}

function prepare(folder: string, where: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure(
      `the data folder cannot be used: ${resolve(folder)} (${code})`,
      `name a folder that this user may write: ${where}`,
    );
  }
}
