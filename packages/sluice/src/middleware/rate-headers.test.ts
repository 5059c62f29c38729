/** The headers of a decision: seconds are never early, and the lists are what RFC 9651 reads. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decision } from "../engine/decision.ts";
import { retryAfterSeconds } from "./answer.ts";
import { rateHeaders } from "./rate-headers.ts";
import { verdictOf } from "./verdict.ts";

const NOW_MS = 1_800_000_000_000;

function policy(
  name: string,
  waitMs: number,
  success = true,
  reason: "allowed" | "limit" | "cost" | "batch" = "allowed",
) {
  const retryAfterMs = success ? 0 : waitMs;
  return {
    name,
    identifier: "a",
    durationMs: 1_500,
    cost: 1,
    decision: decision(success, 10, 4, NOW_MS + waitMs, 6, reason, "local", false, retryAfterMs),
  };
}

describe("rate headers", () => {
  test("several policies are one list, in their order; windows and resets are rounded up", () => {
    expect(rateHeaders(verdictOf([policy("a", 1), policy("b", 2_000)]), "draft-10", NOW_MS)).toEqual([
      "RateLimit-Policy",
      '"a";q=10;w=2, "b";q=10;w=2',
      "RateLimit",
      '"a";r=4;t=1, "b";r=4;t=2',
    ]);
  });

  test("a name with quotes and backslashes is a string of RFC 9651", () => {
    const [, quota] = rateHeaders(verdictOf([policy('a"b\\c', 1)]), "draft-10", NOW_MS);
    expect(quota).toBe('"a\\"b\\\\c";q=10;w=2');
  });

  test("Retry-After is never before the last policy that denied, at most a second after it, and absent for a cost that never fits", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 9 }), fc.integer({ min: 1, max: 10 ** 9 }), (a, b) => {
        const seconds = retryAfterSeconds(
          verdictOf([
            policy("a", a, false, "limit"),
            policy("b", b, false, "limit"),
            policy("c", 10 ** 10, true, "batch"),
          ]),
        );
        expect(seconds! * 1_000).toBeGreaterThanOrEqual(Math.max(a, b));
        expect(seconds! * 1_000).toBeLessThan(Math.max(a, b) + 1_000);
        expect(retryAfterSeconds(verdictOf([policy("a", a, false, "limit"), policy("b", b, false, "cost")]))).toBe(
          undefined,
        );
      }),
    );
  });

  test("a reset that is over by now is 0, not negative", () => {
    expect(rateHeaders(verdictOf([policy("a", -5_000)]), "draft-7", NOW_MS)[3]).toBe("limit=10, remaining=4, reset=0");
  });
});
