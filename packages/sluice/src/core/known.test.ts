import { describe, expect, test } from "vitest";
import { SluiceError } from "./errors.ts";
import { checkKnown } from "./known.ts";

const KNOWN = ["cellsMax", "clock", "ttl"];

describe("known names", () => {
  test("options with known names only are accepted, and so are none", () => {
    expect(() => checkKnown({ cellsMax: 1, clock: undefined }, KNOWN)).not.toThrow();
    expect(() => checkKnown({}, KNOWN)).not.toThrow();
  });

  test.each([null, undefined, 5, "clock", ["clock"]])("%j is not an object of options", (options) => {
    expect(() => checkKnown(options as never, KNOWN)).toThrow(SluiceError);
    expect(() => checkKnown(options as never, KNOWN)).toThrow(expect.objectContaining({ code: "RL_OPTIONS_INVALID" }));
  });

  test.each([
    ["clok", "clock"],
    ["clocks", "clock"],
    ["cl0ck", "clock"],
    ["xxclock", "clock"],
    ["CELLSMAX", "cellsMax"],
    ["cells__max", "cellsMax"],
  ])("%s brings up %s", (name, near) => {
    expect(() => checkKnown({ [name]: 1 }, KNOWN)).toThrow(`did you mean ${near}?`);
  });

  test.each(["xxxclock", "cxxxk", "ttt", "tl", ""])("%j is near to none: all known names are listed", (name) => {
    expect(() => checkKnown({ [name]: 1 }, KNOWN)).toThrow("known options: cellsMax, clock, ttl");
  });

  test("the message names the field that the options belong to", () => {
    expect(() => checkKnown({ hots: 1 }, ["host"], "read")).toThrow(/\bread\b/);
    expect(() => checkKnown({ hots: 1 }, ["host"])).toThrow(/\boptions\b/);
  });
});
