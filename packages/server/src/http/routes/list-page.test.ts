import { describe, expect, test } from "vitest";
import { pageOf } from "./list-page.ts";

const items = (...names: string[]) => names.map((name) => ({ name }));
const ask = (names: readonly string[], request: { limit?: number; cursor?: string }) =>
  pageOf(
    items(...names),
    request,
    ({ name }) => name,
    ({ name }) => name,
  );

describe("a page", () => {
  test("pages in a row give every item once, though others come and go meanwhile", () => {
    const first = ask(["a", "c", "é", "😀"], { limit: 2 });
    expect(first).toMatchObject({ data: ["a", "c"], pagination: { hasMore: true } });
    // "c" was deleted and "b" added since.
    const second = ask(["a", "b", "é", "😀"], { limit: 2, cursor: first.pagination!.cursor! });
    expect(second).toEqual({ data: ["é", "😀"], pagination: { hasMore: false } });
  });

  test("ten items are given where nothing else was asked for", () => {
    const names = Array.from({ length: 11 }, (_, i) => String.fromCharCode(97 + i));
    expect(ask(names, {}).data).toHaveLength(10);
  });

  test("a cursor that nobody gave out is refused", () => {
    expect(() => ask(["a"], { cursor: "!!" })).toThrow("body.cursor must be the cursor of an earlier answer");
  });

  test("a cursor behind the last item gives an empty page", () => {
    const cursor = Buffer.from("zz").toString("base64url");
    expect(ask(["a"], { cursor })).toEqual({ data: [], pagination: { hasMore: false } });
  });
});
