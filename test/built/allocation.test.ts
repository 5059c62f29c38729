/**
 * The warm path allocates the decision and no other object: measured against a loop that makes the same object.
 *
 * On the built package: the test runner reaches every import of the source through an object, which hides it from the
 * compiler.
 */
import type { Decision } from "sluice";
import { describe, expect, test } from "vitest";

const built: string = new URL("../../packages/sluice/dist/index.js", import.meta.url).href;
const { Limiter } = (await import(built)) as typeof import("sluice");

/** 5,000 answers of 128 bytes are 0.6 MB: they fit the young generation, so nothing is collected while they are counted. */
const CALLS = 5_000;
const ROUNDS = 15;
/**
 * A time that a call passes or returns is boxed (16 bytes) wherever the compiler does not inline that call, and what it inlines
 * depends on the moment at which it looks: one start in four has one such box, the others none. Any object at all is larger: 24
 * bytes are allowed, and an object more on each call is seen.
 */
const SLACK_BYTES = 24;
/** The compiler works beside the program and may be late on a busy machine: 40 times 75,000 calls are enough for it. */
const SETTLES_MAX = 40;

/** Keeps the last answer, so that no compiler may find it unused and leave it out. */
let kept: unknown;

/** Bytes a call, the median of several rounds. */
function measure(call: (i: number) => unknown): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < CALLS; i++) kept = call(i);
    return (process.memoryUsage().heapUsed - before) / CALLS;
  });
  return rounds.sort((a, b) => a - b)[ROUNDS >> 1]!;
}

/** Bytes a call once it is compiled: what the measure settles at, or the last of many that stayed above `enough`. */
function bytesPerCall(call: (i: number) => unknown, enough: number): number {
  for (let i = 0; i < 50_000; i++) kept = call(i);
  let bytes = measure(call);
  for (let tries = 1; bytes > enough && tries < SETTLES_MAX; tries++) bytes = measure(call);
  return bytes;
}

/**
 * Times beyond 2^31, as real ones: each is an object of its own on the heap. A million calls take a second, so that no window
 * ends while it is measured.
 */
let wallMs = 1_700_000_000_000;
const clock = {
  wallMs: () => {
    wallMs += 1 / 1_024;
    return wallMs;
  },
  monoMs: () => 0,
};

function bareDecision(i: number): Decision {
  const now = Math.floor(clock.wallMs());
  const reset = (Math.floor(now / 3_600_000) + 1) * 3_600_000;
  return {
    success: true,
    limit: 1e9,
    remaining: 1e9 - i,
    reset,
    current: i,
    reason: "allowed",
    source: "local",
    degraded: false,
    retryAfterMs: 0,
  };
}

describe("the decision path", () => {
  const limiter = new Limiter({ clock });
  const identifiers = Array.from({ length: 1_000 }, (_, i) => Buffer.from(`user_${i}`).toString());
  const request = { namespace: "api", identifier: "user_1", limit: 1e9, duration: 3_600_000, cost: 1 };
  const rule = limiter.rule({ namespace: "api", limit: 1e9, duration: "1h" });
  const banned = limiter.rule({ namespace: "banned", limit: 0, duration: "1h" });
  const used = limiter.rule({ namespace: "used", limit: 1e6, duration: "1h" });
  void used.decide("user_1", { cost: 1e6 });
  const manyKeys = Array.from({ length: 10_000 }, (_, i) => Buffer.from(`customer_${i}`).toString());
  // More than the 256 scopes that are kept: each is filled anew on nearly every call, and its duration parsed.
  const manyScopes = Array.from({ length: 600 }, (_, i) => ({
    ...request,
    namespace: `space_${i}`,
    duration: "1h" as const,
  }));
  const floor = bytesPerCall(bareDecision, (3 + 9 + 2 + 2 + 1) * 8);

  test("an object of nine fields is what a decision costs", () => {
    expect(globalThis.gc).toBeTypeOf("function");
    expect(kept).toBeDefined();
    // A header of 3 words, 9 fields, and a boxed reset of 16 bytes.
    expect(floor).toBeGreaterThanOrEqual((3 + 9) * 8);
  });

  test.each([
    ["decide on one key", () => limiter.decide(request)],
    ["a rule on one key", () => rule.decide("user_1")],
    ["a rule on a thousand keys", (i: number) => rule.decide(identifiers[i % 1_000]!)],
    ["a rule on ten thousand keys", (i: number) => rule.decide(manyKeys[i % 10_000]!)],
    ["decide in 600 scopes with text durations", (i: number) => limiter.decide(manyScopes[i % 600]!)],
    ["a denial for the cost", () => banned.decide("user_1")],
    ["a denial for the limit", () => used.decide("user_1")],
  ])("%s allocates no more than its decision", (_, call) => {
    expect(bytesPerCall(call, floor + SLACK_BYTES)).toBeLessThanOrEqual(floor + SLACK_BYTES);
  });

  test("the denials are what they are called", () => {
    expect(banned.decide("user_1")).toMatchObject({ success: false, reason: "cost" });
    expect(used.decide("user_1")).toMatchObject({ success: false, reason: "limit" });
  });
});
