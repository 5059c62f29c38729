import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as bounds from "./bounds.ts";
import { ERRORS, type ErrorCode, SluiceError } from "./errors.ts";

const CODES = Object.keys(ERRORS) as ErrorCode[];
/** The longest message: the longest rule, what is shown of a value (60 characters of at most 6, and its length), the rest. */
const MESSAGE_MAX = Math.max(...Object.values(ERRORS).map((rule) => rule.length)) + 60 * 6 + 100;

function messageOf(value: unknown): string {
  return new SluiceError("RL_LIMIT_INVALID", "limit", value).message;
}

/** Fails the test if anything at all is asked of the object. */
function untouchable(target: object): object {
  const traps: ProxyHandler<object> = {};
  for (const name of Object.getOwnPropertyNames(Reflect) as (keyof ProxyHandler<object>)[]) {
    traps[name] = () => {
      throw new Error(`foreign code ran: ${name}`);
    };
  }
  return new Proxy(target, traps);
}

describe("error", () => {
  test.each(CODES)("%s: the message is the field, the rule, the value and the code", (code) => {
    const error = new SluiceError(code, "some.field", 17);
    expect(error.message).toBe(`some.field must be ${ERRORS[code]}; got 17 (${code})`);
    expect(error).toMatchObject({ name: "SluiceError", code, field: "some.field", value: 17 });
    expect(error).toBeInstanceOf(Error);
    expect(code).toMatch(/^RL_[A-Z_]+$/);
  });

  test("the rules state the bounds that are checked", () => {
    const { LIMIT_MAX, COST_MAX, DURATION_MIN_MS, DURATION_MAX_MS, PART_LENGTH_MAX, BATCH_MAX } = bounds;
    expect(ERRORS.RL_LIMIT_INVALID).toContain(`from 0 to ${LIMIT_MAX}`);
    expect(ERRORS.RL_COST_INVALID).toContain(`from 0 to ${COST_MAX}`);
    expect(ERRORS.RL_DURATION_INVALID).toContain(`from ${DURATION_MIN_MS} to ${DURATION_MAX_MS}`);
    for (const code of ["RL_WORKSPACE_INVALID", "RL_NAMESPACE_INVALID", "RL_IDENTIFIER_INVALID"] as const) {
      expect(ERRORS[code]).toContain(`1 to ${PART_LENGTH_MAX} `);
    }
    expect(ERRORS.RL_BATCH_INVALID).toContain(`1 to ${BATCH_MAX} `);
    expect(ERRORS.RL_CELLS_MAX_INVALID).toContain(`from ${bounds.CELLS_MAX_MIN} to ${bounds.CELLS_MAX_MAX}`);
    expect(ERRORS.RL_CLOCK_INVALID).toContain(`from 0 to ${bounds.WALL_MAX_MS} ms`);
  });

  test("a hint stands between the value and the code", () => {
    const { message } = new SluiceError("RL_WHEN_FULL_INVALID", "whenFull", "alow", { hint: "; did you mean allow?" });
    expect(message).toBe('whenFull must be "allow" or "deny"; got "alow"; did you mean allow? (RL_WHEN_FULL_INVALID)');
  });

  test("within puts a prefix before the field and keeps code and value", () => {
    const value = { some: "object" };
    const error = new SluiceError("RL_COST_INVALID", "cost", value).within("requests[3]");
    expect(error).toMatchObject({ name: "SluiceError", code: "RL_COST_INVALID", field: "requests[3].cost" });
    expect(error.value).toBe(value);
    expect(error.message).toMatch(/^requests\[3\]\.cost must be an integer from 0 to \d+ .*; got an object \(RL_COST/);
  });

  test("within names the item itself where the whole request is wrong", () => {
    const error = new SluiceError("RL_REQUEST_INVALID", "request", null).within("requests[3]");
    expect(error).toMatchObject({ code: "RL_REQUEST_INVALID", field: "requests[3]", value: null });
  });

  test.each([
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["a boolean", false, "false"],
    ["a number", 1.5, "1.5"],
    ["NaN", Number.NaN, "NaN"],
    ["minus infinity", Number.NEGATIVE_INFINITY, "-Infinity"],
    ["zero", 0, "0"],
    ["minus zero, which is told from zero", -0, "-0"],
    ["a bigint, which is told from a number", 12n, "12n"],
    ["a text, which is told from a number", "12", '"12"'],
    ["a text with quotes and line breaks", 'a"\nb', '"a\\"\\nb"'],
    ["a lone surrogate, visibly", "\ud800", '"\\ud800"'],
    ["a symbol", Symbol("secret"), "a symbol"],
    ["a function", () => 1, "a function"],
    ["a class", class Foo {}, "a function"],
    ["an array", [1, 2, 3], "an array of 3"],
    ["a sparse array", new Array(1_000_000), "an array of 1000000"],
    ["an object", { limit: 1 }, "an object"],
    ["an object without a prototype", Object.create(null), "an object"],
    ["a boxed number", Object(1), "an object"],
  ])("a message shows %s", (_, value, shown) => {
    expect(messageOf(value)).toContain(`; got ${shown} (RL_`);
    expect(new SluiceError("RL_LIMIT_INVALID", "limit", value).value).toBe(value);
  });

  test("a message is short, whatever the value", () => {
    const huge = ["x", "\0", "😀", '"', "\ud800"].map((unit) => unit.repeat(500_000));
    for (const value of [...huge, 10n ** 5_000n, -(10n ** 5_000n), new Array(2 ** 32 - 1)]) {
      expect(messageOf(value).length).toBeLessThanOrEqual(MESSAGE_MAX);
    }
    expect(messageOf("x".repeat(61))).toContain(`got "${"x".repeat(60)}"… (61 characters) (`);
    expect(messageOf("x".repeat(60))).toContain(`got "${"x".repeat(60)}" (`);
  });

  test("showing a value runs none of its code", () => {
    const trap = () => {
      throw new Error("foreign code ran");
    };
    const methods = { toString: trap, toJSON: trap, valueOf: trap, [Symbol.toPrimitive]: trap };
    const getters = Object.defineProperties({}, { length: { get: trap }, [Symbol.toStringTag]: { get: trap } });
    const array = Object.assign([1, 2], methods);
    for (const value of [methods, getters, array, Object.assign(() => 1, methods), untouchable({})]) {
      expect(() => messageOf(value)).not.toThrow();
    }
  });

  test("a proxied array with a failing trap is shown without an error", () => {
    expect(() => messageOf(untouchable([1, 2]))).not.toThrow();
  });

  test.each([
    ["object", {}],
    ["array", []],
    ["function", () => 1],
  ])("a revoked proxy of an %s is shown without an error", (_, target) => {
    const { proxy, revoke } = Proxy.revocable(target, {});
    revoke();
    expect(() => messageOf(proxy)).not.toThrow();
  });

  test("any value at all makes an error and not a crash", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withBoxedValues: true, withNullPrototype: true }), (value) => {
        const error = new SluiceError("RL_COST_INVALID", "cost", value);
        expect(Object.is(error.value, value)).toBe(true);
        expect(error.message.length).toBeLessThanOrEqual(MESSAGE_MAX);
      }),
    );
  });
});
