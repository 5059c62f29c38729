/**
 * Makes a folder, one level at a time, or says in a user's words why it cannot be made.
 *
 * Not Node's recursive mkdir: it never returns where the file system answers "no such file" to a new folder, as /proc does, and it
 * reports a read-only disk as a missing file. New folders belong to their owner alone. Rights of folders that exist are not judged
 * here: serve/data-risk.ts does that.
 */
import { accessSync, constants, lstatSync, mkdirSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Why a folder cannot be used: what is in the way, in words, with the system's code. */
export class FolderFailure extends Error {
  override readonly name = "FolderFailure";
}

interface Way {
  /** The nearest folder on the way that exists. */
  readonly known: string;
  /** What would have to be made below it, in order. */
  readonly missing: readonly string[];
}

const WORDS: Readonly<Record<string, string>> = {
  EACCES: "this user cannot write there",
  EPERM: "this user cannot write there",
  EROFS: "the file system is mounted read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota of this user is exceeded",
  ENOTDIR: "it is not a folder",
  ENOENT: "its file system does not allow new folders",
  ELOOP: "it is a symbolic link that points to itself",
  ENAMETOOLONG: "the name is too long",
};

/** statfs types of /proc and /sys: they take no files, whatever their rights say. */
const PSEUDO = new Set([0x9fa0, 0x62656572]);

/** Throws FolderFailure. */
export function makeFolder(path: string): void {
  const { missing } = wayTo(path);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Another process may have made it just now.
      if (codeOf(error) !== "EEXIST") throw failureOf(folder, error);
    }
  }
  checkWritable(resolve(path));
}

/** Whether `makeFolder` would succeed, as far as can be known without making anything; answers whether the folder exists. Throws FolderFailure. */
export function checkFolder(path: string): boolean {
  const { known, missing } = wayTo(path);
  checkWritable(known);
  if (missing.length > 0 && PSEUDO.has(statfsSync(known).type)) {
    throw new FolderFailure(`${known}: ${WORDS["ENOENT"]}`);
  }
  return missing.length === 0;
}

function wayTo(path: string): Way {
  const missing: string[] = [];
  let known = resolve(path);
  try {
    while (!isThere(known)) {
      missing.unshift(known);
      known = dirname(known);
    }
    const target = statSync(known, { throwIfNoEntry: false });
    if (target === undefined) {
      throw new FolderFailure(`${known}: it is a symbolic link to something that does not exist`);
    }
    if (!target.isDirectory()) throw new FolderFailure(`${known}: ${WORDS["ENOTDIR"]} (ENOTDIR)`);
  } catch (error) {
    throw error instanceof FolderFailure ? error : failureOf(known, error);
  }
  return { known, missing };
}

/** A link that leads nowhere is there: only its target is missing. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    // ENOTDIR: a file stands on the way; the walk up meets it.
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return false;
    throw error;
  }
}

function checkWritable(folder: string): void {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw failureOf(folder, error);
  }
}

function failureOf(folder: string, error: unknown): FolderFailure {
  const code = codeOf(error);
  return new FolderFailure(`${folder}: ${WORDS[code] ?? (error as Error).message} (${code})`);
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown";
}
