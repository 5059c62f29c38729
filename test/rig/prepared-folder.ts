/**
 * The folder of a new database server: prepared once per checkout, and copied for every server.
 *
 * mariadb-install-db and initdb take seconds, which every suite with a database paid; a copy takes a tenth of that. The prepared folder is
 * kept in node_modules/.cache under a hash of the command and of the program's file, so another version of the database prepares its
 * own. Two processes that prepare it at the same time both succeed: the first one to rename its folder wins.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { removeFolder, temporaryFolder } from "./child-processes.ts";

const CACHE = fileURLToPath(new URL("../../node_modules/.cache/databases", import.meta.url));

/** Runs a command in a folder, as the user that the server runs as. */
export type RunIn = (folder: string, words: readonly string[]) => void;

/** `prepare`: the command that fills a folder; its first word is the program's file. */
export function fillPrepared(folder: string, prepare: (folder: string) => readonly string[], runIn: RunIn): void {
  const [program = "", ...words] = prepare(".");
  const { mtimeMs, size } = statSync(program);
  const about = JSON.stringify([program, mtimeMs, size, words, process.getuid?.()]);
  const kept = join(CACHE, createHash("sha256").update(about).digest("hex").slice(0, 16));
  if (!existsSync(kept)) keep(kept, prepare, runIn);
  copy(kept, folder);
}

function keep(kept: string, prepare: (folder: string) => readonly string[], runIn: RunIn): void {
  // Outside the checkout: the user of the database may not be allowed to read that.
  const prepared = temporaryFolder();
  runIn(prepared, prepare(prepared));
  mkdirSync(CACHE, { recursive: true });
  const copied = mkdtempSync(`${kept}-`);
  copy(prepared, copied);
  removeFolder(prepared);
  try {
    renameSync(copied, kept);
  } catch (error) {
    if (!existsSync(kept)) throw error;
    removeFolder(copied);
  }
}

/** With owners and modes, as the databases ask for them. */
function copy(from: string, to: string): void {
  execFileSync("cp", ["--archive", "--reflink=auto", `${from}/.`, to]);
}
