import { describe, expect, test } from "vitest";
import { type ErrorCode, SluiceError } from "../core/errors.ts";
import { Limiter } from "./limiter.ts";
import type { LimiterOptions } from "./options.ts";

const nothing = () => {};
const wallMs = () => 0;
const random = (drawn: unknown) => ({ uint32: () => drawn });

const KNOWN_HINT =
  "known options: cellsMax, whenFull, region, origin, global, globalMode, holdsMax, flushMs, readTimeoutMs, commandsPerSecond, " +
  "publishMs, importMs, globalDurationMin, floor, errorBudget, namespaceRowsMax, workspaceRowsMax, closeTimeoutMs, onEvent, trace, clock, timers, random";

/** Option → its code, what its message must state, and what is not legal there. */
const BAD: readonly (readonly [keyof LimiterOptions, ErrorCode, string, readonly unknown[]])[] = [
  [
    "cellsMax",
    "RL_CELLS_MAX_INVALID",
    "from 1 to 16000000",
    [
      0,
      -0,
      -1,
      1.5,
      16_000_001,
      2 ** 53,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      "9",
      9n,
      null,
      true,
      [9],
      { valueOf: () => 9 },
    ],
  ],
  [
    "whenFull",
    "RL_WHEN_FULL_INVALID",
    '"allow" or "deny"',
    ["maybe", "", "Allow", "deny ", null, true, 0, ["deny"], Object("deny")],
  ],
  [
    "clock",
    "RL_CLOCK_INVALID",
    "{ wallMs(), monoMs() }",
    [null, 0, "now", nothing, {}, { wallMs }, { monoMs: wallMs }, { wallMs, monoMs: 5 }, Date],
  ],
  [
    "timers",
    "RL_TIMERS_INVALID",
    "set(callback, delayMs) and clear(handle)",
    [null, 1, "timers", nothing, {}, { set: nothing }, { clear: nothing }, { set: nothing, clear: true }],
  ],
  ["random", "RL_RANDOM_INVALID", "from 0 to 4294967295", [null, 4, "4", nothing, {}, { uint32: 4 }, Math]],
];

function thrown(options: unknown): SluiceError {
  try {
    new Limiter(options as LimiterOptions);
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw new Error("not a SluiceError", { cause: error });
  }
  throw new Error("nothing was thrown");
}

describe("options", () => {
  test.each(BAD)(
    "a bad %s is refused, and the error names it, its bounds and the value",
    (name, code, bounds, values) => {
      for (const value of values) {
        const error = thrown({ [name]: value });
        expect([error.code, error.field]).toEqual([code, name]);
        expect(Object.is(error.value, value)).toBe(true);
        expect(error.message).toContain(bounds);
      }
    },
  );

  test.each([1.5, -1, 2 ** 32, Number.NaN, Number.POSITIVE_INFINITY, "5", 5n, null, undefined, {}])(
    "a random that draws %s is refused",
    (drawn) => {
      expect(thrown({ random: random(drawn) })).toMatchObject({
        code: "RL_RANDOM_INVALID",
        field: "random",
        value: drawn,
      });
    },
  );

  test.each([0, 2 ** 32 - 1])("a random that only ever draws %i still makes a limiter that works", (drawn) => {
    const limiter = new Limiter({
      cellsMax: 2,
      random: { uint32: () => drawn },
      timers: { set: nothing, clear: nothing },
    });
    for (let i = 0; i < 10; i++) {
      const request = { namespace: "api", identifier: `user_${i}`, limit: 1, duration: "1h" } as const;
      expect([limiter.decide(request), limiter.decide(request)]).toMatchObject([{ success: true }, { success: false }]);
    }
  });

  test.each([
    ["cellMax", "did you mean cellsMax?"],
    ["cellsmax", "did you mean cellsMax?"],
    ["cells_max", "did you mean cellsMax?"],
    ["whenfull", "did you mean whenFull?"],
    ["whenFul", "did you mean whenFull?"],
    ["clok", "did you mean clock?"],
    ["timer", "did you mean timers?"],
    ["rondom", "did you mean random?"],
    ["redis", KNOWN_HINT],
    ["", KNOWN_HINT],
    ["constructor", KNOWN_HINT],
  ])("an unknown option is refused with the nearest known one: %s", (name, hint) => {
    const error = thrown({ cellsMax: 5, [name]: undefined });
    expect(error).toMatchObject({ code: "RL_OPTIONS_INVALID", field: "options", value: name });
    expect(error.message).toContain(`got ${JSON.stringify(name)}; ${hint} (RL_OPTIONS_INVALID)`);
  });

  test.each([null, 5, "options", true, [], () => ({}), Symbol("options")])("%s is refused as options", (options) => {
    expect(thrown(options)).toMatchObject({ code: "RL_OPTIONS_INVALID", field: "options", value: options });
  });

  test("what is not given, or given as undefined, has its default", () => {
    const given = { cellsMax: undefined, whenFull: undefined, clock: undefined, timers: undefined, random: undefined };
    for (const limiter of [new Limiter(), new Limiter({}), new Limiter(given as never), new Limiter(undefined)]) {
      expect(limiter.stats().cells.max).toBe(1_048_576);
    }
  });

  test("a rule refuses unknown options too, and says what is known", () => {
    const limiter = new Limiter({ cellsMax: 1 });
    const rule = { namespace: "api", limit: 5, duration: "1m" as const };
    for (const [extra, hint] of [
      [{ limits: 5 }, "did you mean limit?"],
      [{ identifier: "a" }, "known options: workspace, namespace, limit, duration"],
    ] as const) {
      const misuse = () => limiter.rule({ ...rule, ...extra });
      expect(misuse).toThrow(expect.objectContaining({ code: "RL_OPTIONS_INVALID", field: "rule" }));
      expect(misuse).toThrow(hint);
    }
    for (const options of [undefined, null, 5, [rule]]) {
      expect(() => limiter.rule(options as never)).toThrow(expect.objectContaining({ code: "RL_OPTIONS_INVALID" }));
    }
  });
});
