/** The page on the sliding window's own error says what a run of today gives, and what it promises holds for every shape. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { accuracyPage, measureAll } from "./src/accuracy/page.ts";
import { plotAccuracy } from "./src/accuracy/plot.ts";

const docs = new URL("../docs/", import.meta.url);

describe("the sliding window against an exact log", () => {
  const figures = measureAll(() => {});

  test.each(figures)(
    "$shape: a window stays within the limit, and any span of its length within twice of it",
    (figure) => {
      expect(figure.requests).toBeGreaterThan(1_000);
      expect(figure.windowMost).toBeLessThanOrEqual(1);
      expect(figure.admittedMost).toBeLessThanOrEqual(2);
      // Taking the previous window for evenly used is wrong by at most all of it.
      expect(Math.max(figure.overMost, figure.underMost)).toBeLessThanOrEqual(1);
    },
  );

  test("docs/accuracy.md and its plots are what `npm run accuracy -- --write` makes", async () => {
    expect(await readFile(new URL("accuracy.md", docs), "utf8")).toBe(accuracyPage(figures));
    expect(await readFile(new URL("plots/accuracy.svg", docs), "utf8")).toBe(plotAccuracy(figures));
  });
});
