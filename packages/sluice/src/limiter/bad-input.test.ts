import { describe, expect, test } from "vitest";
import { type ErrorCode, SluiceError } from "../core/errors.ts";
import type { Decision } from "../engine/decision.ts";
import { Limiter } from "./limiter.ts";
import type { LimitRequest } from "./request.ts";

const GOOD = {
  workspace: "acme",
  namespace: "api",
  identifier: "user_42",
  limit: 10,
  duration: "1m",
  cost: 1,
} as const;
type Field = keyof typeof GOOD;

const LONE = [
  "\ud800",
  "\udfff",
  "\udc00\ud800",
  "a\ud800",
  "\udc00a",
  "ab\udbff",
  "abc\udbff",
  `${"x".repeat(511)}\ud800`,
];
const NOT_TEXT = [
  null,
  0,
  7,
  Number.NaN,
  true,
  1n,
  Symbol("x"),
  ["x"],
  { toString: () => "x" },
  Object("x"),
  () => "x",
];
const TEXTS = ["", ...LONE, ...NOT_TEXT, "x".repeat(513), "😀".repeat(513), `${"😀".repeat(511)}ab`];
const COUNTS = [
  ...[null, true, "", "1", "1e3", 1n, Symbol("1"), [1], { valueOf: () => 1 }, Object(1), () => 1, new Date(1)],
  ...[0.5, 1.000_1, -0.5, -1, Number.MIN_VALUE, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  ...[2 ** 40 + 1, 2 ** 40 + 0.5, Number.MAX_SAFE_INTEGER, 2 ** 53, Number.MAX_VALUE],
];
const DURATIONS = [
  ...[
    "5 parsecs",
    "1.5h",
    "",
    " 5s",
    "5s ",
    "5S",
    "١٠s",
    "5",
    "s",
    "-5s",
    "+5s",
    "1e3s",
    "0s",
    "999ms",
    "31d",
    "721h",
    "1w",
  ],
  ...[0, -0, 999, 999.999, 1_000.5, 2_592_000_001, -60_000, Number.NaN, Number.POSITIVE_INFINITY],
  ...[null, true, 60_000n, Symbol("1m"), ["1m"], { toString: () => "1m" }, Object("1m"), Object(60_000), () => "1m"],
];

/** Field → its code, the bounds its message must state, and what is not legal there. `undefined` too where it is required. */
const BAD: Readonly<Record<Field, readonly [ErrorCode, string, readonly unknown[]]>> = {
  workspace: ["RL_WORKSPACE_INVALID", "1 to 512 characters", TEXTS],
  namespace: ["RL_NAMESPACE_INVALID", "1 to 512 characters", [undefined, ...TEXTS]],
  identifier: ["RL_IDENTIFIER_INVALID", "1 to 512 characters", [undefined, ...TEXTS]],
  limit: ["RL_LIMIT_INVALID", "from 0 to 1099511627776", [undefined, ...COUNTS]],
  cost: ["RL_COST_INVALID", "from 0 to 1099511627776", COUNTS],
  duration: ["RL_DURATION_INVALID", "from 1 s to 30 d", [undefined, ...DURATIONS]],
};
const FIELDS = Object.keys(BAD) as Field[];

function setUp() {
  const time: { ms: unknown } = { ms: 1_800_000_000_000 };
  const timers = { set: () => 1, clear: () => {} };
  const clock = { wallMs: () => time.ms as number, monoMs: () => 0 };
  const limiter = new Limiter({ cellsMax: 100, timers, clock });
  return { limiter, time, decide: (request: unknown) => limiter.decide(request as LimitRequest) as Decision };
}

function thrown(act: () => unknown): SluiceError {
  try {
    act();
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw new Error("not a SluiceError", { cause: error });
  }
  throw new Error("nothing was thrown");
}

/** Expects misuse, told in full: the code, the path of the field, its bounds, and the value as it was given. */
function expectMisuse(act: () => unknown, code: ErrorCode, field: string, bounds: string, value: unknown): void {
  const error = thrown(act);
  expect([error.code, error.field]).toEqual([code, field]);
  expect(Object.is(error.value, value)).toBe(true);
  expect(error.message.startsWith(`${field} must be `)).toBe(true);
  expect(error.message).toContain(bounds);
  expect(error.message).toContain(`(${code})`);
  if (typeof value === "number" || value === null || value === undefined) {
    expect(error.message).toContain(`; got ${Object.is(value, -0) ? "-0" : String(value)} (`);
  }
  if (typeof value === "string" && value.length <= 60)
    expect(error.message).toContain(`; got ${JSON.stringify(value)} (`);
}

describe.each(FIELDS)("a bad %s", (field) => {
  const [code, bounds, values] = BAD[field];

  test("is refused by decide, limit and charge, and nothing is counted", async () => {
    const { limiter } = setUp();
    const before = limiter.stats();
    for (const value of values) {
      const request = { ...GOOD, [field]: value } as LimitRequest;
      expectMisuse(() => limiter.decide(request), code, field, bounds, value);
      await expect(limiter.limit(request)).rejects.toThrow(expect.objectContaining({ code, field }));
      expectMisuse(() => limiter.charge(request), code, field, bounds, value);
    }
    expect(limiter.stats()).toEqual(before);
    expect(limiter.inspect(GOOD)).toMatchObject({ isKnown: false, effective: 0 });
  });

  test("is refused in a batch, which names the item, and nothing is counted", async () => {
    const { limiter } = setUp();
    const before = limiter.stats();
    for (const value of values) {
      const requests = [GOOD, { ...GOOD, identifier: "b" }, { ...GOOD, [field]: value } as LimitRequest];
      expectMisuse(() => limiter.decideMany(requests), code, `requests[2].${field}`, bounds, value);
      await expect(limiter.limitMany(requests)).rejects.toThrow(expect.objectContaining({ code }));
      expectMisuse(() => limiter.chargeMany(requests), code, `requests[2].${field}`, bounds, value);
    }
    expect(limiter.stats()).toEqual(before);
    expect(limiter.inspect(GOOD)).toMatchObject({ isKnown: false, effective: 0 });
  });

  test("is refused by a rule, when it is made or when it is asked", async () => {
    const { limiter } = setUp();
    const { workspace, namespace, limit, duration } = GOOD;
    const rule = limiter.rule({ workspace, namespace, limit, duration });
    for (const value of values) {
      const act = () => {
        if (field === "identifier") return rule.decide(value as string);
        if (field === "cost") return rule.decide("user_42", { cost: value as number });
        return limiter.rule({ workspace, namespace, limit, duration, [field]: value });
      };
      expectMisuse(act, code, field, bounds, value);
      if (field === "cost")
        expectMisuse(() => rule.charge("user_42", { cost: value as number }), code, field, bounds, value);
      if (field === "identifier") {
        expectMisuse(() => rule.charge(value as string), code, field, bounds, value);
        await expect(rule.limit(value as string)).rejects.toThrow(expect.objectContaining({ code }));
        expectMisuse(() => rule.inspect(value as string), code, field, bounds, value);
      }
    }
    expect(limiter.stats().decisions.allowed).toBe(0);
    expect(rule.inspect("user_42").effective).toBe(0);
  });

  // A cost is no business of inspect's.
  if (field === "cost") return;

  test("is refused by inspect", () => {
    const { limiter } = setUp();
    for (const value of values) {
      if (field === "limit" && value === undefined) continue;
      expectMisuse(() => limiter.inspect({ ...GOOD, [field]: value }), code, field, bounds, value);
    }
  });
});

describe("a bad request", () => {
  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a number", 5],
    ["a text", "user_42"],
    ["a bigint", 5n],
    ["a symbol", Symbol("user_42")],
    ["a function", () => GOOD],
  ])("that is %s is refused", async (_, request) => {
    const { limiter, decide } = setUp();
    const refused = expect.objectContaining({ code: "RL_REQUEST_INVALID", value: request });
    expect(() => decide(request)).toThrow(refused);
    expect(() => limiter.inspect(request as never)).toThrow(refused);
    expect(() => limiter.charge(request as never)).toThrow(refused);
    expect(() => limiter.chargeMany([GOOD, request as never])).toThrow(refused);
    expect(() => limiter.decideMany([GOOD, request as never])).toThrow(refused);
    expect(() => limiter.decideMany([GOOD, request as never])).toThrow(/^requests\[1\] must be an object /);
    await expect(limiter.limit(request as never)).rejects.toThrow(refused);
    expect(limiter.stats()).toMatchObject({ decisions: { allowed: 0 }, cells: { live: 0 } });
  });

  test("that is empty, or wrong in everything at once, is refused by every door", () => {
    // Found so: an empty workspace and namespace without a duration were taken for a cache hit, decided with a window of
    // 0 ms, and answered with a reset of NaN.
    const bad = { workspace: "", namespace: "", identifier: "x", limit: 3 };
    for (const request of [{}, [], new Map(), bad] as never[]) {
      const { limiter } = setUp();
      const before = limiter.stats();
      expect(thrown(() => limiter.decide(request))).toBeInstanceOf(SluiceError);
      expect(thrown(() => limiter.decideMany([request]))).toBeInstanceOf(SluiceError);
      expect(thrown(() => limiter.charge(request))).toBeInstanceOf(SluiceError);
      expect(thrown(() => limiter.inspect(request))).toBeInstanceOf(SluiceError);
      expect(limiter.stats()).toEqual(before);
    }
  });

  test.each([null, 5, 0, "5", true, () => 5, Symbol("5")])("of a rule that is no object is refused: %s", (request) => {
    // A plain number is a mistake people make: rule.limit("user_42", 5). It must not mean a cost of 1.
    const { limiter } = setUp();
    const rule = limiter.rule({ namespace: "api", limit: 10, duration: "1m" });
    expect(thrown(() => rule.decide("user_42", request as never)).code).toBe("RL_REQUEST_INVALID");
    expect(thrown(() => rule.charge("user_42", request as never)).code).toBe("RL_REQUEST_INVALID");
    expect(limiter.stats().decisions.allowed).toBe(0);
  });

  test("of a rule that misspells its cost is refused, with a hint", () => {
    const { limiter } = setUp();
    const rule = limiter.rule({ namespace: "api", limit: 10, duration: "1m" });
    const misuse = () => rule.decide("user_42", { costs: 5 } as never);
    expect(thrown(misuse)).toMatchObject({ code: "RL_OPTIONS_INVALID", field: "request", value: "costs" });
    expect(misuse).toThrow("did you mean cost?");
    expect(limiter.stats().decisions.allowed).toBe(0);
  });

  test("whose fields fail to be read throws what they throw, and nothing is counted", () => {
    const { limiter, decide } = setUp();
    for (const field of FIELDS) {
      const request = Object.defineProperty({ ...GOOD }, field, {
        get() {
          throw new RangeError("a getter failed");
        },
      });
      expect(() => decide(request)).toThrow(RangeError);
      expect(() => limiter.decideMany([GOOD, request])).toThrow(RangeError);
      expect(() => limiter.charge(request)).toThrow(RangeError);
      expect(() => limiter.chargeMany([GOOD, request])).toThrow(RangeError);
    }
    expect(limiter.inspect(GOOD).effective).toBe(0);
  });
});

describe("an extreme that is legal", () => {
  test.each([
    ["512 letters", "x".repeat(512)],
    ["512 emoji, 1024 units", "😀".repeat(512)],
    ["one NUL", "\0"],
    ["a space", " "],
    ["a noncharacter", "\uffff"],
    ["__proto__", "__proto__"],
  ])("passes every door: %s", (_, text) => {
    const { limiter, decide } = setUp();
    for (const field of ["workspace", "namespace", "identifier"] as const) {
      const request = { ...GOOD, [field]: text };
      expect(decide(request)).toMatchObject({ success: true, current: 1 });
      expect(limiter.decideMany([request])).toMatchObject({ success: true });
      expect(limiter.inspect(request)).toMatchObject({ [field]: text, effective: 2 });
    }
  });

  test.each([
    ["cost", { cost: -0 }, { cost: 0 }],
    ["limit", { limit: -0 }, { limit: 0 }],
    ["limit of a peek", { limit: -0, cost: 0 }, { limit: 0, cost: 0 }],
  ])("minus zero as %s is zero, down to the sign of the answer", (_, minus, zero) => {
    const [one, other] = [setUp(), setUp()];
    for (const earlier of [0, 3]) {
      expect(one.decide({ ...GOOD, ...minus })).toEqual(other.decide({ ...GOOD, ...zero }));
      expect(one.limiter.decideMany([{ ...GOOD, ...minus }])).toEqual(other.limiter.decideMany([{ ...GOOD, ...zero }]));
      expect(one.limiter.charge({ ...GOOD, ...minus })).toEqual(other.limiter.charge({ ...GOOD, ...zero }));
      for (const { decide } of [one, other]) decide({ ...GOOD, cost: earlier });
    }
    expect(one.limiter.inspect(GOOD)).toEqual(other.limiter.inspect(GOOD));
    expect(one.limiter.stats()).toEqual(other.limiter.stats());
  });
});

describe("a broken clock", () => {
  test.each([Number.NaN, -1, 4_294_967_294_001, Number.POSITIVE_INFINITY, undefined, "noon"])(
    "that says %s is refused",
    (said) => {
      const { limiter, time, decide } = setUp();
      time.ms = said;
      const many = [() => limiter.decideMany([GOOD, GOOD]), () => limiter.chargeMany([GOOD, GOOD])];
      const acts = [() => decide(GOOD), () => limiter.charge(GOOD), ...many, () => limiter.inspect(GOOD)];
      for (const act of acts) {
        const error = thrown(act);
        expect([error.code, error.field]).toEqual(["RL_CLOCK_INVALID", "clock"]);
        expect(error.message).toContain("from 0 to 4294967294000 ms");
        if (typeof said === "number") expect(error.value).toBe(said);
      }
      time.ms = 1_800_000_000_000;
      expect(limiter.inspect(GOOD)).toMatchObject({ isKnown: false, effective: 0 });
      expect(limiter.stats()).toMatchObject({
        decisions: { allowed: 0 },
        cells: { live: 0 },
        clock: { held: 0, followed: 0 },
      });
    },
  );
});
