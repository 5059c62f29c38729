/** The space that is left for an embedded store or a SQLite file. A database server has a disk of its own, which is not seen from here. */
import { statfsSync } from "node:fs";
import { resolve } from "node:path";
import type { ServerSettings } from "../../config/settings.ts";
import { dataPlace } from "../../serve/data-dir.ts";
import { type Finding, fail, warn } from "./finding.ts";

const MIB = 1024 * 1024;
/** SQLite keeps a log beside the file, which may grow by some MiB before it is written back. */
const FULL_BYTES = 10 * MIB;
const SCARCE_BYTES = 100 * MIB;
const ADVICE = "free space on this disk: when it is full, keys, namespaces and overrides cannot be changed";

/** Null: there is nothing to say, or it cannot be known. */
export function spaceFinding(settings: Pick<ServerSettings, "sqlUrl" | "dataDir">): Finding | null {
  const place = dataPlace(settings);
  if (place === null) return null;
  const folder = resolve(place.folder);
  try {
    const { bavail, bsize } = statfsSync(folder);
    return diskFinding(folder, bavail * bsize);
  } catch {
    // The folder is not there yet, or may not be read: another check reports that.
    return null;
  }
}

export function diskFinding(folder: string, freeBytes: number): Finding | null {
  if (freeBytes >= SCARCE_BYTES) return null;
  const text = `${Math.floor(freeBytes / MIB)} MiB free for ${folder}`;
  return freeBytes < FULL_BYTES ? fail("disk", text, ADVICE) : warn("disk", text, ADVICE);
}
