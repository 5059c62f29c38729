/**
 * Reads a JSON body as it was meant, or refuses it.
 *
 * JSON.parse takes what this API must not: bytes that are no UTF-8 would become one and the same replacement character, a number
 * would be rounded to another one, and of a field named twice the last would win. All three could count something that nobody
 * asked for.
 */
import { isUtf8 } from "node:buffer";
import { Problem } from "../../contract/problem.ts";

/** Bodies of this API are two deep: an array of objects. */
const DEPTH_MAX = 8;

/** A hundred items of five fields are the most that is asked for. */
const MEMBERS_MAX = 1_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const MINUS = 0x2d;

export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw Problem.at("body", "must be JSON in UTF-8; got other bytes");
  const text = bytes.toString("utf8");
  const members = scan(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = bytes.length === 0 ? "nothing" : (error as Error).message.replaceAll(/\s+/g, " ").slice(0, 120);
    throw Problem.at("body", `must be JSON; got ${why}`);
  }
  if (members !== membersOf(value)) throw Problem.at("body", "must not repeat a field");
  return value;
}

/** Counts the members of all objects. Refuses what is nested too deeply, and numbers that would be rounded. */
function scan(text: string): number {
  let depth = 0;
  let members = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === COLON) {
      if (++members > MEMBERS_MAX) throw Problem.at("body", `must have at most ${MEMBERS_MAX} fields in all`);
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > DEPTH_MAX) throw Problem.at("body", `must be at most ${DEPTH_MAX} levels deep`);
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    } else if (code === MINUS || isDigit(code)) {
      const start = at;
      while (at + 1 < text.length && isDigit(text.charCodeAt(at + 1))) at++;
      // Up to 15 digits and nothing else: no such number is rounded.
      if (at - start >= PLAIN_MAX || isNumberPart(text.charCodeAt(at + 1))) {
        at = endOfNumber(text, at) - 1;
        checkExact(text.slice(start, at + 1));
      }
    }
  }
  return members;
}

/** The closing quote: one with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let first = at;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((at - first) % 2 === 0) return at;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && isNumberPart(text.charCodeAt(at))) at++;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** A digit, `.`, `+`, `-`, `e` or `E`. */
function isNumberPart(code: number): boolean {
  return isDigit(code) || code === 0x2e || code === 0x2b || code === MINUS || code === 0x65 || code === 0x45;
}

const PLAIN_MAX = 15;
const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

function checkExact(text: string): void {
  const parts = PARTS.exec(text);
  // What is no number at all, JSON.parse refuses.
  if (parts === null) return;
  const read = PARTS.exec(decimalText(Number(text)));
  if (read === null || plain(parts) !== plain(read)) {
    throw Problem.at("body", `must have numbers that can be represented exactly; got ${text.slice(0, 60)}`);
  }
}

/** A double in its shortest decimal form, which is what the reader would print. */
function decimalText(value: number): string {
  return String(Math.abs(value));
}

/** Digits and exponent with no zeros around: equal for equal numbers. */
function plain([, whole = "", fraction = "", exponent = "0"]: RegExpExecArray): string {
  const digits = (whole + fraction).replace(/^0+/, "");
  const trimmed = digits.replace(/0+$/, "");
  if (trimmed === "") return "0";
  return `${trimmed}e${Number(exponent) - fraction.length + (digits.length - trimmed.length)}`;
}

function membersOf(value: unknown): number {
  if (value === null || typeof value !== "object") return 0;
  let members = 0;
  if (!Array.isArray(value)) {
    // No prototype has enumerable members here: what JSON.parse makes are plain objects.
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key];
      members += typeof member === "object" ? 1 + membersOf(member) : 1;
    }
    return members;
  }
  for (const item of value) members += membersOf(item);
  return members;
}
