import { describe, expect, test } from "vitest";
import { alignedLines, markdownTable } from "./columns.ts";

const ROWS = [
  ["name", "count"],
  ["a", "10"],
  ["longer", "1"],
];

describe("columns", () => {
  test("are as wide as their widest, and no line ends with a blank", () => {
    expect(alignedLines(ROWS)).toEqual(["name    count", "a       10", "longer  1"]);
    expect(alignedLines([["a", ""]])).toEqual(["a"]);
  });

  test("are aligned to the right from a column on", () => {
    expect(alignedLines(ROWS, { gap: "   ", rightFrom: 1 })).toEqual([
      "name     count",
      "a           10",
      "longer       1",
    ]);
  });

  test("make a Markdown table that a formatter leaves alone", () => {
    expect(markdownTable(ROWS[0]!, ROWS.slice(1), 1)).toBe(
      ["| name   | count |", "| ------ | ----: |", "| a      |    10 |", "| longer |     1 |"].join("\n"),
    );
    expect(markdownTable(["a"], [["b"]])).toBe(["| a   |", "| --- |", "| b   |"].join("\n"));
  });
});
