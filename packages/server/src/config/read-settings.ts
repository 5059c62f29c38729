/**
 * From what was given to the settings: a file is weaker than the environment, and that is weaker than flags.
 *
 * Every value is known with its source, so that `sluice config check` can say where it comes from. A secret is shown by neither
 * this nor any error.
 */
import { InputError, shown } from "../input/input-error.ts";
import { readSecretFile, type Source } from "./given.ts";
import { environmentNameOf, FILE_SUFFIX, flagOf, type Setting } from "./setting.ts";
import { SETTINGS, type SettingName, type SettingValues } from "./settings-table.ts";
import { shownSecret } from "./shown-secret.ts";

/** A value, as it may be shown, and where it comes from. */
export interface Effective {
  readonly path: string;
  readonly shown: string;
  /** `default`, or the name it was given by. */
  readonly source: string;
}

export interface Read {
  readonly values: SettingValues;
  readonly effective: readonly Effective[];
  /** How the person called a setting, for what is wrong with several together. */
  readonly calledAs: (name: SettingName) => string;
}

/** @param sources the strongest first. */
export function readValues(sources: readonly Source[]): Read {
  const values: Record<string, unknown> = {};
  const effective: Effective[] = [];
  const called = new Map<SettingName, string>();
  for (const [name, setting] of Object.entries(SETTINGS) as [SettingName, Setting][]) {
    const { value, source, text } = readOne(setting, sources);
    values[name] = value;
    effective.push({ path: setting.path, shown: text, source: source ?? "default" });
    called.set(name, source ?? flagOf(setting.path));
  }
  return { values: values as unknown as SettingValues, effective, calledAs: (name) => called.get(name)! };
}

interface One {
  readonly value: unknown;
  readonly source: string | undefined;
  readonly text: string;
}

function readOne(setting: Setting, sources: readonly Source[]): One {
  const filePath = setting.path + FILE_SUFFIX;
  for (const source of sources) {
    const hasValue = source.values.has(setting.path);
    const hasFile = setting.secret !== undefined && source.values.has(filePath);
    if (!hasValue && !hasFile) continue;
    const [ownName, fileName] = [source.nameOf(setting.path), source.nameOf(filePath)];
    if (hasValue && hasFile) {
      throw new InputError(`${ownName} and ${fileName} are both set`, "remove one of them");
    }
    if (hasFile) return readSecret(setting, readSecretFile(source.values.get(filePath), fileName), fileName);
    const given = source.values.get(setting.path);
    if (setting.secret === undefined) return readPlain(setting, given, ownName);
    if (source.kind !== "environment") checkOpen(setting, given, ownName);
    return readSecret(setting, given, ownName);
  }
  return { value: setting.initial, source: undefined, text: setting.initialText };
}

function readPlain({ rule, read, hint }: Setting, given: unknown, source: string): One {
  const value = read(given);
  if (value === undefined) throw InputError.of({ field: source, rule, value: given, hint: hint(given) });
  return { value, source, text: Array.isArray(value) ? value.join(",") : String(given) };
}

function readSecret(setting: Setting, given: unknown, source: string): One {
  const value = setting.read(given);
  if (value !== undefined) return { value, source, text: shownSecret(setting.secret, value) };
  // Whatever it is, it may be a secret that was put in the wrong place.
  const what = typeof given === "string" ? `a text of ${given.length} characters` : shown(given);
  throw new InputError(`${source} must be ${setting.rule}; got ${what}, not shown here`, setting.hint(given));
}

/** Files are committed, and flags can be seen by every user of the machine: a secret may stand in neither. */
function checkOpen({ path, secret }: Setting, given: unknown, source: string): void {
  const hasSecret = secret === "token" || (typeof given === "string" && URL.canParse(given) && hasPassword(given));
  if (!hasSecret) return;
  const what = secret === "token" ? "be given by" : "hold a password in";
  const place = source.startsWith("--") ? "a flag" : "a configuration file";
  const hint = `set ${environmentNameOf(path)}, or a file that holds it: ${environmentNameOf(path + FILE_SUFFIX)}, ${flagOf(path + FILE_SUFFIX)}, ${path}${FILE_SUFFIX}`;
  throw new InputError(`${source} must not ${what} ${place}: others can read it`, hint);
}

function hasPassword(url: string): boolean {
  return new URL(url).password !== "";
}
