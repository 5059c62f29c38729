/**
 * RESP frames (versions 2 and 3): where one ends, and what it says.
 *
 * The fault proxy cuts streams at frames, and the rig asks servers its own questions, past the driver that is under test.
 */

export type RespValue = string | number | bigint | boolean | null | RespError | RespValue[];

export class RespError extends Error {
  override readonly name = "RespError";
}

const CR = 13;
const NESTED = new Map([
  ["*", 1],
  ["~", 1],
  [">", 1],
  ["%", 2],
  ["|", 2],
]);

interface Parsed {
  readonly value: RespValue;
  /** The offset after the frame. */
  readonly end: number;
}

/** The frame that begins at `offset`, or undefined if it is not whole yet. */
export function parseFrame(bytes: Buffer, offset: number): Parsed | undefined {
  const lineEnd = bytes.indexOf(CR, offset);
  if (lineEnd === -1 || lineEnd + 1 >= bytes.length) return undefined;
  const type = String.fromCharCode(bytes[offset]!);
  const line = bytes.toString("utf8", offset + 1, lineEnd);
  const next = lineEnd + 2;
  if (type === "$" || type === "=" || type === "!") return parseBulk(bytes, type, Number(line), next);
  const width = NESTED.get(type);
  if (width === undefined) return { value: simpleValue(type, line), end: next };
  return Number(line) < 0 ? { value: null, end: next } : parseNested(bytes, Number(line) * width, next);
}

function parseBulk(bytes: Buffer, type: string, length: number, start: number): Parsed | undefined {
  if (length < 0) return { value: null, end: start };
  const end = start + length + 2;
  if (end > bytes.length) return undefined;
  const text = bytes.toString("utf8", start, start + length);
  return { value: type === "!" ? new RespError(text) : text, end };
}

function parseNested(bytes: Buffer, count: number, start: number): Parsed | undefined {
  const value: RespValue[] = [];
  let end = start;
  for (let i = 0; i < count; i++) {
    const part = parseFrame(bytes, end);
    if (part === undefined) return undefined;
    value.push(part.value);
    end = part.end;
  }
  return { value, end };
}

function simpleValue(type: string, line: string): RespValue {
  if (type === ":" || type === ",") return Number(line);
  if (type === "(") return BigInt(line);
  if (type === "#") return line === "t";
  if (type === "_") return null;
  return type === "-" ? new RespError(line) : line;
}

/** A command as clients send it: an array of bulk strings. */
export function encodeCommand(args: readonly (string | number)[]): Buffer {
  const parts = args.map((arg) => Buffer.from(String(arg)));
  return Buffer.concat([
    Buffer.from(`*${parts.length}\r\n`),
    ...parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from("\r\n")]),
  ]);
}

/** Cuts a stream into whole frames. */
export class FrameCutter {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): { readonly bytes: Buffer; readonly value: RespValue }[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: { bytes: Buffer; value: RespValue }[] = [];
    let offset = 0;
    for (;;) {
      const frame = offset < this.#rest.length ? parseFrame(this.#rest, offset) : undefined;
      if (frame === undefined) break;
      frames.push({ bytes: this.#rest.subarray(offset, frame.end), value: frame.value });
      offset = frame.end;
    }
    this.#rest = this.#rest.subarray(offset);
    return frames;
  }
}
