import fc from "fast-check";
import { expect, test } from "vitest";
import { limitText } from "./limit.ts";

const count = fc.integer({ min: 0, max: 2 ** 40 });

test("the answer of limit is written as JSON.stringify would", () => {
  const data = fc.record(
    {
      success: fc.boolean(),
      limit: count,
      remaining: count,
      reset: count,
      overrideId: fc.stringMatching(/^rlor_[0-9A-Za-z]{20}$/),
      reason: fc.constantFrom("allowed" as const, "limit" as const, "cost" as const, "full" as const),
      degraded: fc.boolean(),
      shadowed: fc.constant(true),
    },
    { requiredKeys: ["success", "limit", "remaining", "reset", "reason", "degraded"] },
  );
  fc.assert(
    fc.property(data, (one) => {
      expect(JSON.parse(limitText(one))).toEqual({ ...one });
    }),
  );
});
