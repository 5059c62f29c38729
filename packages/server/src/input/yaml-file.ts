/** A map in a YAML file (or JSON, which is YAML). What the keys mean is the caller's. */
import { parseDocument } from "yaml";
import { InputError } from "./input-error.ts";
import { readTextFile } from "./text-file.ts";

/** What people write is a page; anything longer is some other file. */
const BYTES_MAX = 65_536;

/** `called` is the flag that names it; `example` says what one looks like. */
export function readYamlMap(path: string, called: string, example: string): object {
  const text = readTextFile({ path, called, bytesMax: BYTES_MAX, hint: `use a YAML file, ${example}` });
  const document = parseDocument(text, { prettyErrors: true, stringKeys: true });
  // A warning is of something that would be left out of what was written, such as a tag.
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    throw new InputError(`${called} ${path} is not YAML: ${problem.message.split("\n", 1)[0]}`, example);
  }
  const map = contentOf(() => document.toJS({ maxAliasCount: 0 }) as unknown, `${called} ${path}`, example);
  if (typeof map !== "object" || map === null || Array.isArray(map)) {
    throw InputError.of({ field: `${called} ${path}`, rule: "a map of names to values", value: map, hint: example });
  }
  return map;
}

function contentOf(read: () => unknown, called: string, example: string): unknown {
  try {
    return read();
  } catch (error) {
    throw new InputError(`${called} is not valid YAML: ${(error as Error).message}`, example);
  }
}
