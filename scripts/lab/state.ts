/**
 * What a part has done so far, in one file per part, so that an interrupted run can continue.
 *
 * The file belongs to one state of the source and one set of flags: with another one the part starts from the beginning. Written
 * after every chunk, and replaced as a whole, so that a crash leaves the older or the newer one and never half of it.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Conclusion, Done } from "./part.ts";

export interface PartState {
  /** The source that it was run on: see source.ts. */
  readonly source: string;
  /** The flags that matter to the part, as JSON. */
  readonly flags: string;
  readonly seed: number;
  readonly chunks: Readonly<Record<string, Done>>;
  /** How long it has run, over all sessions. */
  readonly ranMs: number;
  /** Set at the end. */
  readonly conclusion?: Conclusion;
}

export class StateFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Undefined if there is none, or none that can be read. */
  read(part: string): PartState | undefined {
    try {
      return JSON.parse(readFileSync(this.#file(part), "utf8")) as PartState;
    } catch {
      return undefined;
    }
  }

  write(part: string, state: PartState): void {
    mkdirSync(this.path, { recursive: true });
    const file = this.#file(part);
    writeFileSync(`${file}.new`, JSON.stringify(state));
    renameSync(`${file}.new`, file);
  }

  forget(part: string): void {
    rmSync(this.#file(part), { force: true });
  }

  #file(part: string): string {
    return join(this.path, `${part}.json`);
  }
}
