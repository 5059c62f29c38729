/**
 * A plan in a file: YAML (or JSON, which is YAML), a map of the same names as the flags.
 *
 * A key that is not known is refused: a misspelt one would silently mean the default.
 */

import { nearest } from "sluice/internal";
import { InputError, shown } from "../../input/input-error.ts";
import { readYamlMap } from "../../input/yaml-file.ts";
import { FIELDS } from "./fields.ts";

const NAMES = FIELDS.map(({ name }) => name as string);
const EXAMPLE = "a plan is a map such as: limit: 1000";

/** The values of a file by name, each still to be read by its field. */
export function readPlanFile(path: string): ReadonlyMap<string, unknown> {
  const map = readYamlMap(path, "--file", EXAMPLE);
  for (const name of Object.keys(map)) {
    if (NAMES.includes(name)) continue;
    const near = nearest(name, NAMES);
    const hint = near === undefined ? `known keys are ${NAMES.join(", ")}` : `did you mean ${near}?`;
    throw new InputError(`--file ${path} has an unknown key: ${shown(name)}`, hint);
  }
  return new Map(Object.entries(map));
}
