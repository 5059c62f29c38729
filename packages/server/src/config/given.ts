/**
 * What a person gave, by path, from the three places a setting may come from: a file, the environment, flags.
 *
 * A name that is not known is refused: a misspelt one would silently mean the default.
 */
import { InputError, shown } from "../input/input-error.ts";
import { readTextFile } from "../input/text-file.ts";
import { readYamlMap } from "../input/yaml-file.ts";
import { environmentNameOf, flagOf, pathsOf, suggestion } from "./setting.ts";
import { ALL_SETTINGS } from "./settings-table.ts";

export interface Source {
  readonly kind: "flag" | "environment" | "file";
  /** How a path is called there: `--redis-url`, `SLUICE_REDIS_URL`, `redis.url in sluice.yaml`. */
  readonly nameOf: (path: string) => string;
  readonly values: ReadonlyMap<string, unknown>;
}

const PATHS = ALL_SETTINGS.flatMap(pathsOf);
/** Names that are no settings: of the file that holds them, and of the commands that ask a server. */
const OTHERS = ["SLUICE_FILE", "SLUICE_URL", "SLUICE_OPS_URL"];
/** What Kubernetes sets in every pod beside a Service named sluice. */
const SERVICE_LINK = /^SLUICE_(SERVICE_|PORT_\d+_)/;

/** Flags as commander gives them: `redisUrl`. */
export function givenFlags(options: Readonly<Record<string, unknown>>): Source {
  const byOption = new Map(PATHS.map((path) => [optionNameOf(path), path]));
  const values = Object.entries(options).flatMap(([name, value]) => {
    const path = byOption.get(name);
    return path === undefined ? [] : [[path, value] as const];
  });
  return { kind: "flag", nameOf: flagOf, values: new Map(values) };
}

/** `--redis-url` is `redisUrl` among the options of a command. */
function optionNameOf(path: string): string {
  return path.replaceAll(/[.](.)/g, (_, letter: string) => letter.toUpperCase());
}

/** An empty variable is one that is not set. */
export function givenEnvironment(environment: Readonly<Record<string, string | undefined>>): Source {
  const byName = new Map(PATHS.map((path) => [environmentNameOf(path), path]));
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith("SLUICE_") || OTHERS.includes(name) || value === undefined || value === "") continue;
    const path = byName.get(name);
    if (path === undefined) throw unknownVariable(name, [...byName.keys()]);
    values.set(path, value);
  }
  return { kind: "environment", nameOf: environmentNameOf, values };
}

function unknownVariable(name: string, known: readonly string[]): InputError {
  const hint = SERVICE_LINK.test(name)
    ? "Kubernetes sets it for a Service named sluice: give the pod enableServiceLinks: false"
    : suggestion(name, known, "docs/configuration.md lists all names; unset it if it is not meant for Sluice");
  return new InputError(`unknown variable in the environment: ${name}`, hint);
}

/** A YAML file, with a map for each word of a path before the last. */
export function givenFile(path: string, called: string): Source {
  const values = new Map<string, unknown>();
  collect(readYamlMap(path, called, "such as: port: 8080"), "", values, path);
  return { kind: "file", nameOf: (name) => `${name} in ${path}`, values };
}

function collect(map: object, prefix: string, into: Map<string, unknown>, file: string): void {
  for (const [key, value] of Object.entries(map)) {
    const path = prefix + key;
    if (PATHS.includes(path)) {
      // A key with nothing behind it is one that is not set.
      if (value !== null) into.set(path, value);
      continue;
    }
    const isGroup = PATHS.some((known) => known.startsWith(`${path}.`));
    if (!isGroup) {
      const hint = suggestion(path, PATHS, "docs/configuration.md lists all names");
      throw new InputError(`${file} has an unknown key: ${shown(path)}`, hint);
    }
    if (value === null) continue;
    if (typeof value !== "object" || Array.isArray(value)) {
      const members = PATHS.filter((known) => known.startsWith(`${path}.`)).map((known) =>
        known.slice(path.length + 1),
      );
      const hint = `its keys are ${members.join(", ")}`;
      throw new InputError(`${path} in ${file} must be a map; got ${typeof value}`, hint);
    }
    collect(value, `${path}.`, into, file);
  }
}

const SECRET_BYTES_MAX = 65_536;
const SECRET_HINT = "use a file that this user can read, such as /run/secrets/sluice";

/** The text of a secret's file, without the line end that editors leave there. */
export function readSecretFile(path: unknown, called: string): string {
  if (typeof path !== "string" || path === "") {
    throw InputError.of({ field: called, rule: "the path of a file", value: path, hint: SECRET_HINT });
  }
  return readTextFile({ path, called, bytesMax: SECRET_BYTES_MAX, hint: SECRET_HINT }).replace(/\r?\n$/, "");
}
