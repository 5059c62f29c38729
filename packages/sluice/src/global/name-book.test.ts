import { describe, expect, test } from "vitest";
import { NameBook } from "./name-book.ts";

const DAY_MS = 86_400_000;

describe("name book", () => {
  test("a name that is in use at the same time is reported with what to do, a past one is not", () => {
    const book = new NameBook();
    expect(book.register("default", "1", 0)).toEqual({ aliases: [], conflict: null });
    expect(book.register("eu", "1", 24_999).conflict).toBe(
      'the region "eu" shares its origin with "default", which is in use at the same time: give all processes that share one Redis the same region name',
    );
    expect(book.register("eu", "1", 25_000)).toEqual({ aliases: ["default"], conflict: null });
  });

  test("many names are counted, not listed", () => {
    const book = new NameBook();
    for (let i = 0; i < 6; i++) book.register(`pod-${i}`, "1", 0);
    expect(book.register("eu", "1", 0).conflict).toContain('"pod-0", "pod-1", "pod-2" and 3 more');
  });

  test("a pair is kept for a day, and then for as long as a row of its name lives", () => {
    const book = new NameBook();
    book.register("default", "1", 0);
    book.register("eu", "1", 3 * DAY_MS);
    const names = new Set(["default"]);
    book.forget(3 * DAY_MS, (region) => names.has(region));
    expect(book.names.aliases("eu")).toEqual(["default"]);
    names.clear();
    book.forget(3 * DAY_MS, (region) => names.has(region));
    expect(book.names.aliases("eu")).toEqual([]);
    book.register("default", "1", 3 * DAY_MS);
    book.forget(4 * DAY_MS - 1, () => false);
    expect(book.names.aliases("eu")).toEqual(["default"]);
  });

  test("a process without an origin is forgotten after ten minutes, whether or not its rows live, unless two names share it", () => {
    const book = new NameBook();
    book.register("eu", "life:1", 0);
    book.register("ap", "life:2", 0);
    book.register("us", "life:2", 0);
    book.forget(599_999, () => true);
    expect(book.register("eu-2", "life:1", 599_999).aliases).toEqual(["eu"]);
    const other = new NameBook();
    other.register("eu", "life:1", 0);
    other.forget(600_000, () => true);
    expect(other.register("eu-2", "life:1", 600_000).aliases).toEqual([]);
    // One that two names share is kept like any origin.
    book.forget(600_000, () => true);
    expect(book.names.aliases("us")).toEqual(["ap"]);
  });

  test("a copy does not change with the book", () => {
    const book = new NameBook();
    book.register("default", "1", 0);
    const copy = book.copy();
    book.register("eu", "1", 0);
    expect([book.names.surplus, copy.names.surplus]).toEqual([1, 0]);
  });
});
