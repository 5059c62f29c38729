/**
 * The folder of an embedded store: its owner's alone, known to be usable before anything else starts, and refused where other users
 * could change what is in it.
 */
import { dirname, join } from "node:path";
import { sqlitePath } from "../admin/open-admin-store.ts";
import type { ServerSettings } from "../config/settings.ts";
import { Failure } from "../input/failure.ts";
import { FolderFailure, makeFolder } from "../system/folder.ts";
import { type DataRisk, dataRisks } from "./data-risk.ts";

export interface DataPlace {
  readonly folder: string;
  readonly database: string;
}

/** Null: the database is on a server. */
export function dataPlace({ sqlUrl, dataDir }: Pick<ServerSettings, "sqlUrl" | "dataDir">): DataPlace | null {
  if (sqlUrl === null) return { folder: dataDir, database: join(dataDir, "sluice.db") };
  if (!sqlUrl.startsWith("sqlite:")) return null;
  const database = sqlitePath(sqlUrl);
  return { folder: dirname(database), database };
}

/** Answers the risks that are not refused. */
export function prepareDataDir(settings: Pick<ServerSettings, "sqlUrl" | "dataDir">): readonly DataRisk[] {
  const place = dataPlace(settings);
  if (place === null) return [];
  try {
    makeFolder(place.folder);
  } catch (error) {
    if (!(error instanceof FolderFailure)) throw error;
    const where = settings.sqlUrl === null ? "--data DIR, or SLUICE_DATA" : "in the URL of the database";
    throw new Failure(
      `the data folder cannot be used: ${error.message}`,
      `use a folder that this user can write to: ${where}`,
    );
  }
  const risks = dataRisks(place.folder, place.database);
  const [worst] = risks;
  if (worst?.isRefused === true) throw new Failure(`the data folder is not safe: ${worst.text}`, worst.advice);
  return risks;
}
