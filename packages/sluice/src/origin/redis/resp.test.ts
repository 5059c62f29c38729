import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RedisFailure } from "./failure.ts";
import { encodeCommand, ReplyReader } from "./resp.ts";

/** A reply as a server writes it. */
function written(reply: unknown): string {
  if (reply === null) return "$-1\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (Array.isArray(reply)) return `*${reply.length}\r\n${reply.map(written).join("")}`;
  return `$${String(reply).length}\r\n${String(reply)}\r\n`;
}

function read(chunks: readonly Buffer[]): unknown[] {
  const reader = new ReplyReader();
  const replies: unknown[] = [];
  for (const chunk of chunks) reader.push(chunk, (reply) => replies.push(reply));
  return replies;
}

const latin1 = (text: string) => Buffer.from(text, "latin1");

describe("RESP › commands", () => {
  test("a length is a number of bytes, whatever characters an argument has", () => {
    const texts = fc.array(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(texts, (args) => {
        const { text, isAscii } = encodeCommand(args);
        const bytes = Buffer.from(text, isAscii ? "latin1" : "utf8");
        const expected = args.map((arg) => Buffer.concat([Buffer.from(`$${Buffer.byteLength(arg)}\r\n${arg}\r\n`)]));
        expect(bytes).toEqual(Buffer.concat([Buffer.from(`*${args.length}\r\n`), ...expected]));
      }),
    );
  });
});

describe("RESP › replies", () => {
  const scalar = fc.oneof(fc.integer(), fc.constant(null), fc.stringMatching(/^[\r\n -~]{0,20}$/));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small", maxDepth: 4 }, scalar, fc.array(tie("value"), { maxLength: 5 })),
  }));

  test("come out whole and in order, wherever the bytes were cut", () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 20 }), (replies, cuts) => {
        const bytes = latin1(replies.map(written).join(""));
        const at = [...new Set(cuts.map((cut) => (bytes.length === 0 ? 0 : cut % bytes.length)))].sort((a, b) => a - b);
        const chunks = [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
        expect(read(chunks)).toEqual(replies);
      }),
    );
  });

  test("simple strings, empty arrays, and errors with their kind", () => {
    const [ok, none, nil, error] = read([latin1("+OK\r\n*0\r\n*-1\r\n-MOVED 1 127.0.0.1:1\r\n")]);
    expect([ok, none, nil]).toEqual(["OK", [], null]);
    expect(error).toBeInstanceOf(RedisFailure);
    expect(error).toMatchObject({ kind: "cluster", message: "MOVED 1 127.0.0.1:1" });
  });

  test.each([
    ["another type of frame", "?3\r\nabc\r\n"],
    ["a length that is not a number", "$x\r\n"],
    ["a number without digits", ":\r\n"],
    ["a negative length", "$-2\r\n"],
    ["a length without end", "$99999999999\r\n"],
    ["an array without end", "*99999999999\r\n"],
    ["a string that is longer than it says", "$1\r\nab\r\n"],
    ["arrays within arrays without end", "*1\r\n".repeat(20)],
  ])("what is not RESP throws: %s", (_, text) => {
    expect(() => read([latin1(text)])).toThrow(expect.objectContaining({ kind: "junk" }));
  });

  test("a reply that does not end is given up", () => {
    const reader = new ReplyReader();
    const endless = () => {
      for (let i = 0; i < 20; i++) reader.push(Buffer.alloc(2 ** 20, "+"), () => {});
    };
    expect(endless).toThrow(expect.objectContaining({ kind: "junk" }));
  });
});
