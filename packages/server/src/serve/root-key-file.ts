/**
 * Where a new root key goes if standard output is not a terminal: a file of the data folder that only its owner may read. Standard
 * output is a journal, a container's log or a pipeline's there, which many may read and which is kept for long.
 *
 * A file of the same name is replaced, never written through: it may be an old one, or a link that somebody planted.
 */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { makeFolder } from "../system/folder.ts";

/** Answers its path. Throws if it cannot be written: the key is then known to nobody. */
export function writeRootKey(folder: string, token: string): string {
  makeFolder(folder);
  const path = join(resolve(folder), "root-key");
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { force: true });
  try {
    // "wx" follows no link and opens nothing that exists.
    writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: "wx", flush: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  return path;
}
