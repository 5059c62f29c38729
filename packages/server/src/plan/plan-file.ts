/**
 * A plan in a file: YAML (or JSON, which is YAML), a map of the same names as the flags.
 *
 * A key that is not known is refused: a misspelt one would silently mean the default.
 */
import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { InputError, shown } from "../input-error.ts";
import { FIELDS } from "./fields.ts";
import { nearest } from "./nearest.ts";

/** A plan is a page; anything longer is some other file. */
const BYTES_MAX = 65_536;

const NAMES = FIELDS.map(({ name }) => name as string);
const EXAMPLE = "a plan is a map such as: limit: 1000";

/** The values of a file by name, each still to be read by its field. */
export function readPlanFile(path: string): ReadonlyMap<string, unknown> {
  const document = parseDocument(textOf(path), { prettyErrors: true });
  const [problem] = document.errors;
  if (problem !== undefined) {
    throw new InputError(`--file ${path} is not YAML: ${problem.message.split("\n", 1)[0]}`, EXAMPLE);
  }
  const map = contentOf(path, () => document.toJS({ maxAliasCount: 0 }) as unknown);
  if (typeof map !== "object" || map === null || Array.isArray(map)) {
    throw InputError.of({ field: `--file ${path}`, rule: "a map of names to values", value: map, hint: EXAMPLE });
  }
  for (const name of Object.keys(map)) {
    if (NAMES.includes(name)) continue;
    const near = nearest(name, NAMES);
    const hint = near === undefined ? `known are ${NAMES.join(", ")}` : `did you mean ${near}?`;
    throw new InputError(`--file ${path} has a key that is not known: ${shown(name)}`, hint);
  }
  return new Map(Object.entries(map));
}

function contentOf(path: string, read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    throw new InputError(`--file ${path} cannot be understood: ${(error as Error).message}`, EXAMPLE);
  }
}

function textOf(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new InputError(`--file must be a file that can be read; got ${shown(path)} (${code})`, "name a YAML file");
  }
  if (Buffer.byteLength(text) > BYTES_MAX) {
    const rule = `a file of at most ${BYTES_MAX} bytes`;
    throw new InputError(`--file must be ${rule}; got ${shown(path)} with ${Buffer.byteLength(text)}`, EXAMPLE);
  }
  return text;
}
