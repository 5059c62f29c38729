import { describe, expect, test } from "vitest";
import { nearest } from "./nearest.ts";

const KNOWN = ["cellsMax", "clock", "cost", "ttl", "timeoutMs", "region"];

describe("nearest", () => {
  test.each([
    ["clok", "clock"],
    ["clocks", "clock"],
    ["cl0ck", "clock"],
    ["xxclock", "clock"],
    ["cots", "cost"],
    ["CELLSMAX", "cellsMax"],
    ["cells__max", "cellsMax"],
    ["timeout", "timeoutMs"],
    ["clocst", "clock"],
  ])("%s brings up %s: at most two letters are wrong, or two neighbours are swapped", (name, near) => {
    expect(nearest(name, KNOWN)).toBe(near);
  });

  test.each(["", "tl", "ttt", "xxxclock", "cxxxk", "redis", "constructor"])("%j is near to none", (name) => {
    expect(nearest(name, KNOWN)).toBeUndefined();
  });

  test("of two, the one with fewer mistakes is meant", () => {
    expect(nearest("hosts", ["posts", "host"])).toBe("posts");
    expect(nearest("hosts", ["poster", "host"])).toBe("host");
  });
});
