import { describe, expect, test } from "vitest";
import { type ErrorCode, SluiceError } from "../core/errors.ts";
import type { MessageChannel } from "../origin/shared-origin.ts";
import { Limiter } from "./limiter.ts";
import { memoryCounters, memoryOrigin, originHost, sharedOrigin } from "./memory-stores.ts";
import type { LimiterOptions } from "./options.ts";

const nothing = () => {};
const later = async () => {};
const timers = { set: nothing, clear: nothing };

function thrown(options: unknown): SluiceError {
  try {
    new Limiter({ cellsMax: 1, timers, ...(options as LimiterOptions) });
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw new Error("not a SluiceError", { cause: error });
  }
  throw new Error(`nothing was thrown for ${JSON.stringify(options)}`);
}

const NUMBERS_NOT: readonly unknown[] = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  "50",
  50n,
  null,
  true,
  [50],
  { valueOf: () => 50 },
];
const counters = (fields: object) => ({
  ...memoryCounters(),
  publish: later,
  read: later,
  cleanUp: later,
  close: later,
  ...fields,
});

/** Option → its code, what its message must state, and what is not legal there. */
const BAD: readonly (readonly [keyof LimiterOptions, ErrorCode, string, readonly unknown[]])[] = [
  ["region", "RL_REGION_INVALID", "1 to 64 characters", ["", "x".repeat(65), "\ud800", 5, null, ["eu"], Object("eu")]],
  [
    "origin",
    "RL_ORIGIN_INVALID",
    "raise, read and close",
    [5, "redis://", null, nothing, {}, { raise: later, read: later }, { raise: later, read: 5, close: later }],
  ],
  [
    "global",
    "RL_GLOBAL_INVALID",
    "publish, read, cleanUp and close, and denials",
    [5, "mysql://", null, {}, counters({ publish: 5 })],
  ],
  [
    "globalMode",
    "RL_MODE_INVALID",
    '"counters", "denials" or "both"',
    ["", "Counters", "all", null, 1, ["both"], Object("both")],
  ],
  [
    "flushMs",
    "RL_INTERVAL_INVALID",
    "flushMs must be a number of milliseconds from 5 to 1000; got ",
    [4, 1_001, 0, ...NUMBERS_NOT],
  ],
  [
    "readTimeoutMs",
    "RL_INTERVAL_INVALID",
    "readTimeoutMs must be a number of milliseconds from 1 to 300; got ",
    [0, 301, ...NUMBERS_NOT],
  ],
  [
    "closeTimeoutMs",
    "RL_INTERVAL_INVALID",
    "closeTimeoutMs must be a number of milliseconds from 0 to 60000; got ",
    [60_001, ...NUMBERS_NOT],
  ],
  [
    "publishMs",
    "RL_INTERVAL_INVALID",
    "publishMs must be a number of milliseconds from 100 to globalDurationMin; got ",
    [99, 60_001, ...NUMBERS_NOT],
  ],
  [
    "importMs",
    "RL_INTERVAL_INVALID",
    "importMs must be a number of milliseconds from 100 to globalDurationMin; got ",
    [99, 60_001, ...NUMBERS_NOT],
  ],
  ["commandsPerSecond", "RL_COMMANDS_INVALID", "from 20 to 10000000", [19, 10_000_001, 0, ...NUMBERS_NOT]],
  ["globalDurationMin", "RL_DURATION_INVALID", "from 1 s to 30 d", [999, "31d", "1 m", "", null, 0]],
  [
    "floor",
    "RL_FLOOR_INVALID",
    "from 0 to 1",
    [1.01, -0.01, Number.NaN, "0.5", true, [0.5], Number.POSITIVE_INFINITY, null],
  ],
  ["errorBudget", "RL_BUDGET_INVALID", "above 0, up to 1", [0, 1.01, -1, Number.NaN, "0.02", null, true]],
  ["namespaceRowsMax", "RL_ROWS_MAX_INVALID", "from 1 to 16000000", [0, 16_000_001, 1.5, ...NUMBERS_NOT]],
  ["workspaceRowsMax", "RL_ROWS_MAX_INVALID", "from 1 to 16000000", [0, 16_000_001, 1.5, ...NUMBERS_NOT]],
  ["onEvent", "RL_ON_EVENT_INVALID", "a function", [5, "onEvent", {}, [], null]],
  ["trace", "RL_TRACE_INVALID", "a function", [5, "trace", {}, [], null]],
];

describe("options of the layers", () => {
  test.each(BAD)(
    "a bad %s is refused, and the error names it, its bounds and the value",
    (name, code, bounds, values) => {
      for (const value of values) {
        const error = thrown({ [name]: value });
        expect([error.code, error.field, String(value)]).toEqual([code, name, String(value)]);
        expect(Object.is(error.value, value)).toBe(true);
        expect(error.message).toContain(bounds);
      }
    },
  );

  test("a global layer without a region is refused", () => {
    expect(thrown({ global: memoryCounters() })).toMatchObject({
      code: "RL_REGION_INVALID",
      field: "region",
      value: undefined,
    });
  });

  test("global counters without their denials are refused, and the error names that part", () => {
    for (const denials of [undefined, null, {}, { write: later }, { active: later, write: 5 }]) {
      const error = thrown({ region: "eu", global: counters({ denials }) });
      expect(error).toMatchObject({ code: "RL_GLOBAL_INVALID", field: "global.denials" });
    }
  });

  test.each(["publishMs", "importMs"] as const)(
    "an interval longer than the shortest window it serves is refused: %s",
    (name) => {
      expect(thrown({ globalDurationMin: "5s", [name]: 5_001 })).toMatchObject({
        code: "RL_INTERVAL_INVALID",
        field: name,
      });
      expect(() => new Limiter({ cellsMax: 1, timers, globalDurationMin: "5s", [name]: 5_000 })).not.toThrow();
    },
  );

  test.each<LimiterOptions>([
    { region: "eu" },
    { region: "🙂".repeat(64) },
    { flushMs: 5, readTimeoutMs: 1, closeTimeoutMs: 0, commandsPerSecond: 20 },
    { flushMs: 1_000, readTimeoutMs: 300, closeTimeoutMs: 60_000, commandsPerSecond: 10_000_000 },
    { publishMs: 100, importMs: 60_000, floor: 0, errorBudget: Number.MIN_VALUE },
    { globalDurationMin: 1_000, floor: 1, errorBudget: 1 },
    { globalMode: "both" },
    { namespaceRowsMax: 1, workspaceRowsMax: 16_000_000 },
    { trace: nothing },
  ])("what lies on a bound is legal: %j", (options) => {
    expect(() => new Limiter({ cellsMax: 1, timers, ...options })).not.toThrow();
  });

  test("without stores there are no layers to report on, with them there are", async () => {
    expect(new Limiter({ cellsMax: 1, timers }).stats()).toMatchObject({ origin: null, global: null });
    const limiter = new Limiter({
      cellsMax: 1,
      timers,
      region: "eu",
      origin: memoryOrigin(),
      global: memoryCounters(),
    });
    expect(limiter.stats()).toMatchObject({
      origin: { breaker: "closed", raises: 0, unreplayed: 0, readsInFlight: 0 },
      global: { regionsLive: 1, floor: 1, rowsPublished: 0, denials: { emitted: 0, dropped: 0, inflated: 0 } },
    });
    expect(await limiter.close()).toEqual({ lost: 0 });
  });

  test("nothing is started when an option is refused", () => {
    let set = 0;
    const counting = {
      set: () => {
        set++;
      },
      clear: nothing,
    };
    expect(() => new Limiter({ timers: counting, origin: memoryOrigin(), floor: 2 })).toThrow(SluiceError);
    expect(set).toBe(0);
  });
});

describe("stores in memory, and a parent's", () => {
  const stores = { memoryOrigin, memoryCounters, originHost } as Record<string, (options: unknown) => unknown>;

  test.each(Object.keys(stores))("%s refuses nonsense", (name) => {
    for (const options of [null, 5, "clock", [], { clok: 1 }]) {
      expect(() => stores[name]!(options)).toThrow(expect.objectContaining({ code: "RL_OPTIONS_INVALID" }));
    }
    for (const clock of [null, 5, {}, { wallMs: 5 }]) {
      expect(() => stores[name]!({ clock })).toThrow(
        expect.objectContaining({ code: "RL_CLOCK_INVALID", value: clock }),
      );
    }
  });

  test.each(["memoryOrigin", "originHost"])("%s refuses an impossible number of keys", (name) => {
    for (const cellsMax of [0, -1, 1.5, 16_000_001, "9", null, Number.NaN]) {
      const error = { code: "RL_CELLS_MAX_INVALID", field: "cellsMax" };
      expect(() => stores[name]!({ cellsMax })).toThrow(expect.objectContaining(error));
    }
    for (const cellsMax of [1, 16_000_000, undefined]) expect(() => stores[name]!({ cellsMax })).not.toThrow();
    expect(() => memoryCounters({ cellsMax: 5 } as object)).toThrow(
      expect.objectContaining({ code: "RL_OPTIONS_INVALID" }),
    );
  });

  test("a channel that is none is refused on both sides: a process that was not forked has no parent to ask", () => {
    const error = (field: string) => expect.objectContaining({ code: "RL_CHANNEL_INVALID", field });
    const share = sharedOrigin as (channel?: unknown) => unknown;
    const host = originHost();
    const serve = (worker?: unknown) => host.serve(worker as MessageChannel);
    for (const nonsense of [undefined, null, 5, "process", {}, { send: nothing }, { send: nothing, on: nothing }]) {
      expect(() => share(nonsense)).toThrow(error("channel"));
      expect(() => serve(nonsense)).toThrow(error("worker"));
    }
    const { on, off } = process;
    expect(() => share({ on, off, send: undefined })).toThrow(error("channel"));
  });
});
