import { describe, expect, test } from "vitest";
import { safeLine, safeText } from "./safe-text.ts";

/** A title, a cleared screen, a change of direction, an 8-bit escape, a separator of lines, a carriage return. */
const HOSTILE = "\u001b]0;pwn\u0007\u001b[2J\u202e\u009b31m\u2028\r";

describe("safe text", () => {
  test("nothing that a terminal obeys is left, and JSON reads the same text again", () => {
    const safe = safeText(HOSTILE);
    expect(safe).toMatch(/^[ -~]+$/);
    expect(JSON.parse(`"${safe}"`)).toBe(HOSTILE);
    expect(JSON.parse(safeText(JSON.stringify({ name: HOSTILE })))).toEqual({ name: HOSTILE });
  });

  test("lines and tabs stay in a text, and are escaped in a line", () => {
    expect(safeText("a\tb\nc")).toBe("a\tb\nc");
    expect(safeLine("a\nb")).toBe("a\\u000ab");
  });

  test("letters and joined emoji stay as they are, tags and private characters do not", () => {
    expect(safeText("größe 用户 👩‍👩‍👧")).toBe("größe 用户 👩‍👩‍👧");
    expect(safeText("\u{e0041}")).toBe("\\udb40\\udc41");
  });
});
