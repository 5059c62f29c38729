import { expect, test } from "vitest";
import { assert } from "./assert.ts";

test("what does not hold is a defect, and says so; what holds is nothing", () => {
  expect(() => assert(true, "one")).not.toThrow();
  expect(() => assert(false, "a free slot released")).toThrow(
    new Error("sluice: a defect, please report it: a free slot released"),
  );
});
