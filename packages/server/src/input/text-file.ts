/** A small text file that a person named: read whole, or refused with the reason. */
import { readFileSync, statSync } from "node:fs";
import { InputError, shown } from "./input-error.ts";

export interface TextFile {
  readonly path: string;
  /** How the person named it: a flag, a variable, a key in another file. */
  readonly called: string;
  readonly bytesMax: number;
  /** What to do if it cannot be read. */
  readonly hint: string;
}

export function readTextFile({ path, called, bytesMax, hint }: TextFile): string {
  try {
    const { size } = statSync(path);
    if (size > bytesMax) {
      const message = `${called} must be a file of at most ${bytesMax} bytes; got ${shown(path)} with ${size}`;
      throw new InputError(message, hint);
    }
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof InputError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new InputError(`${called} must be a file that can be read; got ${shown(path)} (${code})`, hint);
  }
}
