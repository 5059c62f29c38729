import { describe, expect, test } from "vitest";
import { Problem } from "../../contract/problem.ts";
import { LimitBody, MultiLimitBody } from "../../contract/schemas.ts";
import { bodyCheck } from "./validation.ts";

function problemOf(check: (body: unknown) => void, body: unknown): Problem {
  try {
    check(body);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("no problem");
}

describe("the check of a body", () => {
  test("a batch that is too long is refused before its items are looked at", () => {
    // 300,000 empty objects made 1.2 million findings, a second of work and a gigabyte: one request held up all others.
    const items = Array.from({ length: 300_000 }, () => ({}));
    const { flaws } = problemOf(bodyCheck(MultiLimitBody), items);
    expect(flaws).toEqual([
      { location: "body", message: "must be an array of 1 to 100 items; got an array of 300000" },
    ]);
  });

  test("an unknown field is named in short, however long its name", () => {
    const { flaws } = problemOf(bodyCheck(LimitBody), { ["x".repeat(100_000)]: 1 });
    expect(flaws?.every(({ location }) => location.length <= "body.".length + 60)).toBe(true);
  });

  test("no more than ten places are told, and how many there are", () => {
    const problem = problemOf(
      bodyCheck(MultiLimitBody),
      Array.from({ length: 100 }, () => ({})),
    );
    expect(problem.flaws).toHaveLength(10);
    expect(problem.message).toBe("body[0].namespace is missing (and 399 more)");
  });
});
