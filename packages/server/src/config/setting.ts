/**
 * What a setting is: one row of the table that files, environment, flags, help, checks and docs/configuration.md are made from.
 *
 * Its names follow from its path: `redis.url` is `redis: { url: … }` in a file, `SLUICE_REDIS_URL` in the environment and
 * `--redis-url` on the command line.
 */
import { nearest } from "sluice/internal";
import type { ReadValue } from "../input/readings.ts";

export interface Setting<T = unknown> {
  readonly path: string;
  /** How the help shows its value, such as `<port>`; empty: a flag that stands alone. */
  readonly value: string;
  readonly help: string;
  /** What must hold, in words: `an integer from 0 to 65535`. */
  readonly rule: string;
  readonly read: ReadValue<T>;
  readonly initial: T;
  /** `initial`, as it would be written; `none` where there is none. */
  readonly initialText: string;
  readonly hint: (value: unknown) => string;
  /**
   * What must not be seen: a `token`, or a `url` that may hold a password. It may come from the environment or from a file of its
   * own, whose name is a second setting (`redis.urlFile`); a URL without a password may stand anywhere.
   */
  readonly secret?: "token" | "url";
}

const PREFIX = "SLUICE_";
/** What the name of a secret's file ends with. */
export const FILE_SUFFIX = "File";

export function environmentNameOf(path: string): string {
  return PREFIX + wordsOf(path).join("_").toUpperCase();
}

export function flagOf(path: string): string {
  return `--${wordsOf(path).join("-")}`;
}

/** `redis.urlFile` → redis, url, file. */
function wordsOf(path: string): string[] {
  return path
    .replaceAll(/[A-Z]/g, (letter) => `.${letter}`)
    .toLowerCase()
    .split(".");
}

/** Every path a setting can be named by: its own, and that of the file that holds it. */
export function pathsOf({ path, secret }: Pick<Setting, "path" | "secret">): string[] {
  return secret === undefined ? [path] : [path, path + FILE_SUFFIX];
}

/** `did you mean …?`, or else what there is to choose from. */
export function suggestion(name: string, known: readonly string[], otherwise: string): string {
  const near = nearest(name, known);
  return near === undefined ? otherwise : `did you mean ${near}?`;
}
