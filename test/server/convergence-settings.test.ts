/** The settings of convergence are options of the library: their bounds and defaults are the library's own. */
import { Limiter, type LimiterOptions, memoryCounters } from "sluice";
import { describe, expect, test } from "vitest";
import { CONVERGENCE_SETTINGS } from "../../packages/server/src/config/convergence-table.ts";
import { SETTINGS } from "../../packages/server/src/config/settings-table.ts";
import * as bounds from "../../packages/sluice/src/core/bounds.ts";
import { readOptions } from "../../packages/sluice/src/limiter/options.ts";

type Name = keyof typeof CONVERGENCE_SETTINGS;

/** The least and the most that a setting takes, and what is just outside. */
const LIMITS: Readonly<Partial<Record<Name, readonly [number, number, number]>>> = {
  flushMs: [bounds.FLUSH_MIN_MS, bounds.FLUSH_MAX_MS, 1],
  readTimeoutMs: [bounds.READ_TIMEOUT_MIN_MS, bounds.READ_TIMEOUT_MAX_MS, 1],
  commandsPerSecond: [bounds.COMMANDS_PER_SECOND_MIN, bounds.COMMANDS_PER_SECOND_MAX, 1],
  globalDurationMin: [bounds.DURATION_MIN_MS, bounds.DURATION_MAX_MS, 1],
  publishMs: [bounds.ROUND_MIN_MS, bounds.DURATION_MAX_MS, 1],
  importMs: [bounds.ROUND_MIN_MS, bounds.DURATION_MAX_MS, 1],
  floor: [0, 1, 0.001],
  errorBudget: [Number.MIN_VALUE, 1, 0.001],
  namespaceRowsMax: [bounds.ROWS_MAX_MIN, bounds.ROWS_MAX_MAX, 1],
  workspaceRowsMax: [bounds.ROWS_MAX_MIN, bounds.ROWS_MAX_MAX, 1],
  closeTimeoutMs: [0, bounds.CLOSE_TIMEOUT_MAX_MS, 1],
};

function isTaken(options: LimiterOptions): boolean {
  try {
    readOptions({ region: "eu", global: memoryCounters(), ...options });
    return true;
  } catch {
    return false;
  }
}

describe("the settings of convergence", () => {
  test.each(Object.entries(LIMITS))("%s has the bounds of the library", (name, [low, high, step]) => {
    const { read } = CONVERGENCE_SETTINGS[name as Name];
    // Rounds are at most as long as the shortest window they serve.
    const rest = name === "publishMs" || name === "importMs" ? { globalDurationMin: bounds.DURATION_MAX_MS } : {};
    const round = name === "globalDurationMin" ? { publishMs: 100, importMs: 100 } : {};
    for (const value of [low - step, low, high, high + step]) {
      const isRead = read(value) !== undefined;
      expect([value, isRead]).toEqual([value, value >= low && value <= high]);
      expect([value, isTaken({ ...rest, ...round, [name]: value })]).toEqual([value, isRead]);
    }
  });

  test.each([
    ["whenFull", ["allow", "deny"]],
    ["globalMode", ["counters", "denials", "both"]],
  ] as const)("%s has the choices of the library", (name, choices) => {
    for (const choice of [...choices, "other"]) {
      const isRead = CONVERGENCE_SETTINGS[name].read(choice) !== undefined;
      expect([choice, isRead]).toEqual([choice, choice !== "other"]);
      expect(isTaken({ [name]: choice } as LimiterOptions)).toBe(isRead);
    }
  });

  test("left out, they are what the library does without them", () => {
    const options = readOptions({});
    const initial = (name: Name) => CONVERGENCE_SETTINGS[name].initial;
    for (const name of ["whenFull", "flushMs", "readTimeoutMs", "commandsPerSecond", "globalMode"] as const)
      expect([name, initial(name)]).toEqual([name, options[name]]);
    for (const name of [
      "publishMs",
      "importMs",
      "floor",
      "errorBudget",
      "namespaceRowsMax",
      "workspaceRowsMax",
    ] as const)
      expect([name, initial(name)]).toEqual([name, options[name]]);
    expect(initial("globalDurationMin")).toBe(options.globalDurationMinMs);
    expect(SETTINGS.cells.initial).toBe(options.cellsMax);
  });

  test("every option of the library that a server could set is a setting", () => {
    const own = ["holdsMax", "region", "origin", "global", "onEvent", "trace", "clock", "timers", "random"];
    const options: Record<keyof LimiterOptions, true> = {
      cellsMax: true,
      whenFull: true,
      region: true,
      origin: true,
      holdsMax: true,
      global: true,
      globalMode: true,
      flushMs: true,
      readTimeoutMs: true,
      commandsPerSecond: true,
      publishMs: true,
      namespaceRowsMax: true,
      workspaceRowsMax: true,
      importMs: true,
      globalDurationMin: true,
      floor: true,
      errorBudget: true,
      closeTimeoutMs: true,
      onEvent: true,
      trace: true,
      clock: true,
      timers: true,
      random: true,
    };
    const named = Object.keys(options).filter((name) => !own.includes(name) && name !== "cellsMax");
    expect(Object.keys(CONVERGENCE_SETTINGS).sort()).toEqual(named.sort());
  });

  test("a limiter is made with all of them", async () => {
    const { floor, closeTimeoutMs, ...others } = CONVERGENCE_SETTINGS;
    const values = Object.entries(others).map(([name, { initial }]) => [name, initial]);
    const limiter = new Limiter({ region: "eu", global: memoryCounters(), ...Object.fromEntries(values) });
    expect([floor.initial, closeTimeoutMs.initial]).toEqual([null, null]);
    await limiter.close();
  });
});
