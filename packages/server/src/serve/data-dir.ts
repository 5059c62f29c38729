/** The folder of the embedded store: its owner's alone, and known to be usable before anything else starts. */
import { accessSync, constants, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { Failure } from "../failure.ts";

export function prepareDataDir(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure(
      `the data folder cannot be used: ${resolve(folder)} (${code})`,
      "name a folder that this user may write: --data DIR, or SLUICE_DATA",
    );
  }
}
