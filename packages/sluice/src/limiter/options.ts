/**
 * The options of a limiter: checked once, at construction, with an error that names the option.
 *
 * Unknown options are refused: a misspelt one would silently mean the default.
 */
import * as bounds from "../core/bounds.ts";
import type { Clock, Random, Timers } from "../core/clock.ts";
import { type Duration, parseDuration } from "../core/duration.ts";
import { type ErrorCode, type IntervalOption, OPTION_RULES, SluiceError } from "../core/errors.ts";
import { checkKnown } from "../core/known.ts";
import { isPart } from "../core/part.ts";
import type { Trace } from "../core/trace.ts";
import type { WhenFull } from "../engine/engine.ts";
import type { Counters } from "../global/counters.ts";
import type { GlobalMode } from "../global/global-layer.ts";
import type { Origin } from "../origin/origin.ts";
import type { EventListener } from "./events.ts";
import { systemClock, systemRandom, systemTimers } from "./system.ts";

export interface LimiterOptions {
  /**
   * Maximum number of keys in memory: 1 to 16,000,000, default 1,048,576. Each takes 144 bytes once used, and with an origin or a
   * global layer up to 386 more, 320 of them for its name. A full table evicts the keys that matter least; when the names use up 320 bytes
   * for each of `cellsMax`, it evicts keys with long names.
   */
  readonly cellsMax?: number | undefined;
  /** The decision when the table is full and no key can be evicted: `"allow"` (default) or `"deny"`. Flagged `degraded`. */
  readonly whenFull?: WhenFull | undefined;
  /** The name of the region this process belongs to: 1 to 64 characters. Required with a global layer. */
  readonly region?: string | undefined;
  /** The counter store that the processes of the region share. Without one, the process limits alone. */
  readonly origin?: Origin | undefined;
  /** The counter store that all regions share. */
  readonly global?: Counters | undefined;
  /** What regions exchange: `"counters"` (default), `"denials"` or `"both"`. */
  readonly globalMode?: GlobalMode | undefined;
  /** Maximum number of living reservations per key: 1 to 5000, default 1000. Further ones are denied with the reason `holds`. */
  readonly holdsMax?: number | undefined;
  /** How often accepted cost is replayed to the origin: 5 to 1000 ms, default 50. */
  readonly flushMs?: number | undefined;
  /** Maximum time that a request waits for the origin: 1 to 300 ms, default 300. */
  readonly readTimeoutMs?: number | undefined;
  /** Maximum number of cells replayed per second: 20 to 10,000,000, default 50,000. The others wait. */
  readonly commandsPerSecond?: number | undefined;
  /** How often regional counts are published, and foreign ones imported: 100 ms to `globalDurationMin`, default 1000. */
  readonly publishMs?: number | undefined;
  readonly importMs?: number | undefined;
  /** Windows shorter than this stay regional: default `"1m"`. */
  readonly globalDurationMin?: Duration | undefined;
  /** The fraction of a limit up to which counts are not published: 0 to 1. Default: derived from the number of live regions. */
  readonly floor?: number | undefined;
  /** How far the regions together may exceed a limit through unpublished counts, as a fraction: above 0, up to 1, default 0.02. */
  readonly errorBudget?: number | undefined;
  /**
   * Maximum number of rows of the region in the global store, per namespace and per workspace: 1 to 16,000,000, default 100,000 and
   * 200,000. A row is one key in one window; denials have as many rows in addition. Keys nearest to their limit get rows first.
   * Counts beyond the maximum are not published: the other regions do not know them, so that a limit may be exceeded by more, but no
   * request is denied wrongly.
   */
  readonly namespaceRowsMax?: number | undefined;
  readonly workspaceRowsMax?: number | undefined;
  /** Maximum time for `close()` to replay and publish the remaining counts: 0 to 60,000 ms, default 5000. */
  readonly closeTimeoutMs?: number | undefined;
  /** Receives events about breakers, connections, losses and survived failures: for logs and alerts. At most a few per second. */
  readonly onEvent?: EventListener | undefined;
  /**
   * Receives every decision, import and message: for recording histories. Costs one object per event. An error that it throws for a
   * decision goes to the caller of that decision; errors in the background are ignored.
   */
  readonly trace?: Trace | undefined;
  /** Time, timers and randomness; the defaults are the real ones. */
  readonly clock?: Clock | undefined;
  readonly timers?: Timers | undefined;
  readonly random?: Random | undefined;
}

/** The options with every default filled in, and checked. */
export interface Settings {
  readonly cellsMax: number;
  readonly whenFull: WhenFull;
  readonly region: string;
  readonly origin: Origin | null;
  readonly holdsMax: number;
  readonly global: Counters | null;
  readonly globalMode: GlobalMode;
  readonly flushMs: number;
  readonly readTimeoutMs: number;
  readonly commandsPerSecond: number;
  readonly publishMs: number;
  readonly importMs: number;
  readonly globalDurationMinMs: number;
  readonly floor: number | null;
  readonly errorBudget: number;
  readonly namespaceRowsMax: number;
  readonly workspaceRowsMax: number;
  readonly closeTimeoutMs: number;
  readonly onEvent: EventListener | null;
  readonly trace: Trace | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

const KNOWN: Readonly<Record<keyof LimiterOptions, true>> = {
  cellsMax: true,
  whenFull: true,
  region: true,
  origin: true,
  global: true,
  globalMode: true,
  holdsMax: true,
  flushMs: true,
  readTimeoutMs: true,
  commandsPerSecond: true,
  publishMs: true,
  importMs: true,
  globalDurationMin: true,
  floor: true,
  errorBudget: true,
  namespaceRowsMax: true,
  workspaceRowsMax: true,
  closeTimeoutMs: true,
  onEvent: true,
  trace: true,
  clock: true,
  timers: true,
  random: true,
};

export function readOptions(options: LimiterOptions): Settings {
  checkKnown(options, Object.keys(KNOWN));
  const {
    clock = systemClock,
    timers = systemTimers,
    random = systemRandom,
    cellsMax = bounds.CELLS_MAX_DEFAULT,
    whenFull = "allow",
    trace,
    onEvent,
  } = options;
  checkCellsMax(cellsMax);
  if (whenFull !== "allow" && whenFull !== "deny") throw new SluiceError("RL_WHEN_FULL_INVALID", "whenFull", whenFull);
  if (trace !== undefined && typeof trace !== "function") throw new SluiceError("RL_TRACE_INVALID", "trace", trace);
  if (onEvent !== undefined && typeof onEvent !== "function")
    throw new SluiceError("RL_ON_EVENT_INVALID", "onEvent", onEvent);
  checkPassedIn(clock, timers, random);
  return {
    cellsMax,
    whenFull,
    onEvent: onEvent ?? null,
    trace: trace ?? null,
    clock,
    timers,
    random,
    ...regional(options),
    ...global(options),
  };
}

type RegionalSettings = Pick<
  Settings,
  "origin" | "holdsMax" | "flushMs" | "readTimeoutMs" | "commandsPerSecond" | "closeTimeoutMs"
>;

function regional(options: LimiterOptions): RegionalSettings {
  const { origin, commandsPerSecond = bounds.COMMANDS_PER_SECOND_DEFAULT } = options;
  // `null` is refused: it stands where somebody meant to have an origin, and has none.
  if (origin !== undefined) checkFunctions(origin, "origin", ["raise", "read", "close"], "RL_ORIGIN_INVALID");
  const { COMMANDS_PER_SECOND_MIN, COMMANDS_PER_SECOND_MAX } = bounds;
  if (!isWithin(commandsPerSecond, COMMANDS_PER_SECOND_MIN, COMMANDS_PER_SECOND_MAX)) {
    throw new SluiceError("RL_COMMANDS_INVALID", "commandsPerSecond", commandsPerSecond);
  }
  const { flushMs = bounds.FLUSH_DEFAULT_MS, readTimeoutMs = bounds.READ_TIMEOUT_MAX_MS } = options;
  const { closeTimeoutMs = bounds.CLOSE_TIMEOUT_DEFAULT_MS } = options;
  checkInterval(flushMs, "flushMs", bounds.FLUSH_MIN_MS, bounds.FLUSH_MAX_MS);
  checkInterval(readTimeoutMs, "readTimeoutMs", bounds.READ_TIMEOUT_MIN_MS, bounds.READ_TIMEOUT_MAX_MS);
  checkInterval(closeTimeoutMs, "closeTimeoutMs", 0, bounds.CLOSE_TIMEOUT_MAX_MS);
  const { holdsMax = bounds.HOLDS_MAX_DEFAULT } = options;
  if (!Number.isInteger(holdsMax) || !isWithin(holdsMax, 1, bounds.HOLDS_MAX_MAX)) {
    throw new SluiceError("RL_HOLDS_MAX_INVALID", "holdsMax", holdsMax);
  }
  return { origin: origin ?? null, holdsMax, flushMs, readTimeoutMs, commandsPerSecond, closeTimeoutMs };
}

type RowSettings = Pick<Settings, "namespaceRowsMax" | "workspaceRowsMax">;

function rows(options: LimiterOptions): RowSettings {
  const { namespaceRowsMax = bounds.NAMESPACE_ROWS_MAX_DEFAULT } = options;
  const { workspaceRowsMax = bounds.WORKSPACE_ROWS_MAX_DEFAULT } = options;
  for (const [field, value] of Object.entries({ namespaceRowsMax, workspaceRowsMax })) {
    const isLegal = Number.isInteger(value) && isWithin(value, bounds.ROWS_MAX_MIN, bounds.ROWS_MAX_MAX);
    if (!isLegal) throw new SluiceError("RL_ROWS_MAX_INVALID", field, value);
  }
  return { namespaceRowsMax, workspaceRowsMax };
}

type GlobalSettings = RowSettings &
  Pick<
    Settings,
    "region" | "global" | "globalMode" | "publishMs" | "importMs" | "globalDurationMinMs" | "floor" | "errorBudget"
  >;

function global(options: LimiterOptions): GlobalSettings {
  const { global: counters, globalMode = "counters", region } = options;
  if (counters !== undefined) {
    checkFunctions(counters, "global", ["publish", "read", "cleanUp", "close"], "RL_GLOBAL_INVALID");
    checkFunctions(counters.denials, "global.denials", ["write", "active"], "RL_GLOBAL_INVALID");
  }
  const isNamed = isPart(region) && [...region].length <= bounds.REGION_LENGTH_MAX;
  if ((region !== undefined || counters !== undefined) && !isNamed) {
    throw new SluiceError("RL_REGION_INVALID", "region", region);
  }
  if (!["counters", "denials", "both"].includes(globalMode)) {
    throw new SluiceError("RL_MODE_INVALID", "globalMode", globalMode);
  }
  const { publishMs = bounds.ROUND_DEFAULT_MS, importMs = bounds.ROUND_DEFAULT_MS, floor } = options;
  const { globalDurationMin = bounds.GLOBAL_DURATION_MIN_DEFAULT_MS, errorBudget = bounds.ERROR_BUDGET_DEFAULT } =
    options;
  const globalDurationMinMs = parseDuration(globalDurationMin, "globalDurationMin");
  checkInterval(publishMs, "publishMs", bounds.ROUND_MIN_MS, globalDurationMinMs);
  checkInterval(importMs, "importMs", bounds.ROUND_MIN_MS, globalDurationMinMs);
  if (floor !== undefined && !isWithin(floor, 0, 1)) throw new SluiceError("RL_FLOOR_INVALID", "floor", floor);
  if (!isWithin(errorBudget, Number.MIN_VALUE, 1))
    throw new SluiceError("RL_BUDGET_INVALID", "errorBudget", errorBudget);
  return {
    region: region ?? "",
    global: counters ?? null,
    globalMode,
    publishMs,
    importMs,
    globalDurationMinMs,
    floor: floor ?? null,
    errorBudget,
    ...rows(options),
  };
}

function checkPassedIn(clock: Clock, timers: Timers, random: Random): void {
  checkFunctions(clock, "clock", ["wallMs", "monoMs"], "RL_CLOCK_INVALID");
  const wallMs: unknown = clock.wallMs();
  if (!isWithin(wallMs, 0, bounds.WALL_MAX_MS)) throw new SluiceError("RL_CLOCK_INVALID", "clock", wallMs);
  checkFunctions(timers, "timers", ["set", "clear"], "RL_TIMERS_INVALID");
  checkFunctions(random, "random", ["uint32"], "RL_RANDOM_INVALID");
  // The real one is not tried: Workers forbid that outside of a request, where a limiter may be made.
  if (random === systemRandom) return;
  const drawn: unknown = random.uint32();
  if (!Number.isInteger(drawn) || !isWithin(drawn, 0, 2 ** 32 - 1)) {
    throw new SluiceError("RL_RANDOM_INVALID", "random", drawn);
  }
}

export function checkCellsMax(cellsMax: unknown): void {
  const isLegal = Number.isInteger(cellsMax) && isWithin(cellsMax, bounds.CELLS_MAX_MIN, bounds.CELLS_MAX_MAX);
  if (!isLegal) throw new SluiceError("RL_CELLS_MAX_INVALID", "cellsMax", cellsMax);
}

export function checkInterval(value: unknown, field: IntervalOption, minMs: number, maxMs: number): void {
  if (isWithin(value, minMs, maxMs)) return;
  throw new SluiceError("RL_INTERVAL_INVALID", field, value, { rule: OPTION_RULES.RL_INTERVAL_INVALID[field] });
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return typeof value === "number" && value >= min && value <= max;
}

function checkFunctions(value: unknown, field: string, names: readonly string[], code: ErrorCode): void {
  const record = value as Record<string, unknown> | null;
  if (typeof value !== "object" || record === null || !names.every((name) => typeof record[name] === "function")) {
    throw new SluiceError(code, field, value);
  }
}
