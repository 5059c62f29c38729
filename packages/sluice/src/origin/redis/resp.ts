/**
 * RESP2, the wire format of Redis: commands as text, and replies out of the bytes that arrive.
 *
 * Invariant: replies come out in the order in which they arrived, each whole. Bytes that cannot be a reply throw: what follows them
 * cannot be trusted either. Replies are read as Latin-1, one character per byte: counts, marks, addresses and error codes are ASCII.
 */
import { failureOf, RedisFailure } from "./failure.ts";

const BREAK = "\r\n";

/** One command. `isAscii`: whether each character is one byte. */
export interface EncodedCommand {
  readonly text: string;
  readonly isAscii: boolean;
}

export function encodeCommand(args: readonly string[]): EncodedCommand {
  let text = `*${args.length}${BREAK}`;
  for (const arg of args) text += `$${arg.length}${BREAK}${arg}${BREAK}`;
  // One look at the whole is cheaper than one at each argument, and nearly all commands are ASCII.
  if (Buffer.byteLength(text) === text.length) return { text, isAscii: true };
  text = `*${args.length}${BREAK}`;
  for (const arg of args) text += `$${Buffer.byteLength(arg)}${BREAK}${arg}${BREAK}`;
  return { text, isAscii: false };
}

/** A reply of more than this, or nested deeper, is not one to any command of the origin. */
const REPLY_MAX_BYTES = 16 * 2 ** 20;
const DEPTH_MAX = 8;

const [SIMPLE, ERROR, INTEGER, BULK, ARRAY, MINUS] = [0x2b, 0x2d, 0x3a, 0x24, 0x2a, 0x2d];
const [DIGIT_0, DIGIT_9] = [0x30, 0x39];

export class ReplyReader {
  #text = "";
  #at = 0;

  /**
   * Takes in what arrived, and delivers each reply that is whole: a string, a number, null, an array of them, or a RedisFailure.
   *
   * @throws RedisFailure if it is not RESP.
   */
  push(chunk: Buffer, deliver: (reply: unknown) => void): void {
    this.#text += chunk.toString("latin1");
    let done = 0;
    while (done < this.#text.length) {
      this.#at = done;
      const reply = this.#value(0);
      if (reply === undefined) break;
      done = this.#at;
      deliver(reply);
    }
    this.#text = done === this.#text.length ? "" : this.#text.slice(done);
    if (this.#text.length > REPLY_MAX_BYTES) throw junk();
  }

  /** The value that begins here; undefined if it has not arrived whole. */
  #value(depth: number): unknown {
    const text = this.#text;
    const from = this.#at + 1;
    const end = text.indexOf(BREAK, this.#at);
    if (end === -1) return undefined;
    this.#at = end + 2;
    switch (text.charCodeAt(from - 1)) {
      case SIMPLE:
        return text.slice(from, end);
      case ERROR:
        return failureOf(new Error(text.slice(from, end)));
      case INTEGER:
        return integer(text, from, end);
      case BULK:
        return this.#bulk(integer(text, from, end));
      case ARRAY:
        return this.#array(integer(text, from, end), depth);
      default:
        throw junk();
    }
  }

  #bulk(length: number): string | null | undefined {
    if (length === -1) return null;
    if (length < 0 || length > REPLY_MAX_BYTES) throw junk();
    const from = this.#at;
    const end = from + length;
    if (this.#text.length < end + 2) return undefined;
    if (!this.#text.startsWith(BREAK, end)) throw junk();
    this.#at = end + 2;
    return this.#text.slice(from, end);
  }

  #array(length: number, depth: number): unknown[] | null | undefined {
    if (length === -1) return null;
    if (length < 0 || length > REPLY_MAX_BYTES || depth === DEPTH_MAX) throw junk();
    const values: unknown[] = [];
    for (let i = 0; i < length; i++) {
      const value = this.#value(depth + 1);
      if (value === undefined) return undefined;
      values.push(value);
    }
    return values;
  }
}

function integer(text: string, from: number, end: number): number {
  const isNegative = text.charCodeAt(from) === MINUS;
  let number = 0;
  let at = isNegative ? from + 1 : from;
  if (at === end) throw junk();
  for (; at < end; at++) {
    const digit = text.charCodeAt(at);
    if (digit < DIGIT_0 || digit > DIGIT_9) throw junk();
    number = number * 10 + (digit - DIGIT_0);
  }
  return isNegative ? -number : number;
}

function junk(): RedisFailure {
  return new RedisFailure("junk", "a reply that is not RESP");
}
