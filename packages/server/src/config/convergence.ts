/** How processes and regions converge: the settings of convergence-table.ts, checked together, as options of the limiter. */
import type { GlobalMode, WhenFull } from "sluice";
import { InputError } from "../input/input-error.ts";
import type { Read } from "./read-settings.ts";
import { SETTINGS, type SettingName } from "./settings-table.ts";

export interface ConvergenceSettings {
  readonly whenFull: WhenFull;
  readonly flushMs: number;
  readonly readTimeoutMs: number;
  readonly commandsPerSecond: number;
  readonly globalMode: GlobalMode;
  readonly globalDurationMinMs: number;
  readonly publishMs: number;
  readonly importMs: number;
  /** Null: by the error budget and the number of live regions. */
  readonly floor: number | null;
  readonly errorBudget: number;
  readonly namespaceRowsMax: number;
  readonly workspaceRowsMax: number;
}

const OF_ORIGIN = ["flushMs", "readTimeoutMs", "commandsPerSecond"] as const;
const OF_ROWS = ["namespaceRowsMax", "workspaceRowsMax"] as const;
const OF_COUNTS = ["globalDurationMin", "publishMs", "importMs", "floor", "errorBudget", ...OF_ROWS] as const;

export function convergenceOf(read: Read): ConvergenceSettings {
  const { values, calledAs } = read;
  const { globalMode, globalDurationMin } = values;
  if (globalMode !== "counters" && values.sqlUrl === null) {
    const message = `${calledAs("globalMode")} is ${globalMode}, but sql.url is not set: without a database, regions cannot exchange counts or denials`;
    throw new InputError(message, "set sql.url, or remove globalMode");
  }
  for (const name of ["publishMs", "importMs"] as const) {
    if (values[name] <= globalDurationMin) continue;
    const message = `${calledAs(name)} must be at most globalDurationMin, ${globalDurationMin} ms; got ${values[name]} ms`;
    throw new InputError(
      message,
      `shorter windows would end before their counts are exchanged: lower ${name}, or raise globalDurationMin`,
    );
  }
  const { whenFull, flushMs, readTimeoutMs, commandsPerSecond, publishMs, importMs, floor, errorBudget } = values;
  const regional = { whenFull, flushMs, readTimeoutMs, commandsPerSecond };
  const rows = { namespaceRowsMax: values.namespaceRowsMax, workspaceRowsMax: values.workspaceRowsMax };
  const rhythm = { globalDurationMinMs: globalDurationMin, publishMs, importMs, floor, errorBudget };
  return { ...regional, globalMode, ...rhythm, ...rows };
}

/** How a stop's time is divided. */
export function closeTimeoutOf({ values, calledAs }: Read): number {
  const { closeTimeoutMs, shutdownTimeout } = values;
  if (closeTimeoutMs === null) return shutdownTimeout / 2;
  if (closeTimeoutMs < shutdownTimeout) return closeTimeoutMs;
  const message = `${calledAs("closeTimeoutMs")} must be less than shutdownTimeout, ${shutdownTimeout} ms; got ${closeTimeoutMs} ms`;
  throw new InputError(
    message,
    "requests in flight need a part of shutdownTimeout: lower closeTimeoutMs, or raise shutdownTimeout",
  );
}

/** Settings that were given and change nothing. */
export function unusedSettings({ values, effective }: Read): readonly string[] {
  const given = (names: readonly SettingName[]) =>
    names
      .map((name) => SETTINGS[name].path)
      .filter((path) => effective.some((setting) => setting.path === path && setting.source !== "default"));
  const sentences: string[] = [];
  const say = (names: readonly SettingName[], why: string) => {
    const paths = given(names);
    if (paths.length > 0)
      sentences.push(`${paths.join(", ")} ${paths.length === 1 ? "has" : "have"} no effect: ${why}`);
  };
  if (values.redisUrl === null && values.workers === 1)
    say(OF_ORIGIN, "there is neither redis.url nor a second worker");
  if (values.sqlUrl === null) say(OF_COUNTS, "there is no sql.url");
  else if (values.globalMode === "denials") say(OF_COUNTS, "in globalMode denials regions send no counts");
  else if (values.floor !== null) say(["errorBudget"], "floor is set");
  return sentences;
}
