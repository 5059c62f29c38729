/**
 * Whether other users of the machine could change what a server keeps: who can write to the database can make keys.
 *
 * Looks at the folder and at the database with the files beside it: rights, owners, links. Folders above are not looked at, and
 * Windows has other rights: nothing is found there. It changes nothing; data-dir.ts and the doctor decide what follows.
 */
import { lstatSync, type Stats, statSync } from "node:fs";

export interface DataRisk {
  /** Refused by `serve`; else worth a warning. */
  readonly isRefused: boolean;
  readonly text: string;
  readonly advice: string;
}

/** What SQLite keeps beside a database. */
const BESIDE = ["", "-wal", "-shm", "-journal"];
const ROOT_UID = 0;
const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;

/** The worst first. Finds nothing about files that are not there yet. */
export function dataRisks(folder: string, database: string, uid: number | undefined = process.getuid?.()): DataRisk[] {
  if (uid === undefined) return [];
  const found = [folder, ...BESIDE.map((end) => database + end)].flatMap((path) => risksOf(path, path === folder, uid));
  return found.sort((a, b) => Number(b.isRefused) - Number(a.isRefused));
}

function risksOf(path: string, isFolder: boolean, uid: number): DataRisk[] {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return [];
  const isTrusted = (stats: Stats) => stats.uid === uid || stats.uid === ROOT_UID;
  const target = statSync(path, { throwIfNoEntry: false });
  const kind = isFolder ? "folder" : "file";
  if (!isTrusted(entry)) return [foreign(path, entry, entry.isSymbolicLink() ? "symbolic link" : kind)];
  if (target === undefined) return [];
  if (!isTrusted(target)) return [foreign(path, target, kind)];
  if (!isFolder && !target.isFile()) {
    return [{ isRefused: true, text: `${path} is not a regular file`, advice: "remove it, or use another folder" }];
  }
  const mode = (target.mode & 0o7777).toString(8).padStart(4, "0");
  if ((target.mode & OTHERS_WRITE) !== 0) {
    const text = `every user of this machine may write to ${path} (mode ${mode}), and so could create keys`;
    return [{ isRefused: true, text, advice: tightening(path) }];
  }
  if ((target.mode & GROUP_WRITES) === 0) return [];
  const text = `the group with id ${target.gid} may write to ${path} (mode ${mode}): its members can create keys`;
  return [{ isRefused: false, text, advice: tightening(path) }];
}

function foreign(path: string, { uid }: Stats, kind: string): DataRisk {
  const text = `${path} is a ${kind} owned by the user with id ${uid}, who could change the data of this server`;
  return { isRefused: true, text, advice: "use a folder owned by this user, or change the owner with chown" };
}

function tightening(path: string): string {
  return `check its content, which other users may have changed, then run chmod go-w ${path}`;
}
