import { describe, expect, test } from "vitest";
import { AnswerReader, type ReadAnswer } from "./answer-reader.ts";

const ANSWERS: readonly (readonly [string, string, ReadAnswer])[] = [
  [
    "with a length",
    'HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\n{"a":1}',
    { status: 200, body: '{"a":1}', isLast: false },
  ],
  [
    "the last of its connection",
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    { status: 503, body: "", isLast: true },
  ],
  [
    "in chunks, with a trailer",
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\n{"a"\r\n3\r\n:1}\r\n0\r\nx: y\r\n\r\n',
    { status: 200, body: '{"a":1}', isLast: false },
  ],
  [
    "after an interim one",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    { status: 204, body: "", isLast: false },
  ],
];

describe("answer reader", () => {
  test.each(ANSWERS)(
    "an answer %s is whole at its last byte and not before, however it is cut",
    (_name, text, answer) => {
      for (let size = 1; size <= text.length; size++) {
        const reader = new AnswerReader();
        for (let at = 0; at < text.length; at += size) {
          const read = reader.push(text.slice(at, at + size));
          expect(read).toEqual(at + size >= text.length ? answer : undefined);
        }
        expect(reader.hasRest).toBe(false);
      }
    },
  );

  test("an answer without a length ends with the connection", () => {
    const reader = new AnswerReader();
    expect(reader.push("HTTP/1.1 502 Bad Gateway\r\n\r\n<html>")).toBeUndefined();
    expect(reader.end()).toEqual({ status: 502, body: "<html>", isLast: true });
  });

  test("a connection that ends within an answer gives none", () => {
    const reader = new AnswerReader();
    reader.push("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{");
    expect(reader.end()).toBeUndefined();
  });

  test.each([
    "SSH-2.0-OpenSSH\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "x".repeat(300_000),
  ])("what is no answer is junk", (text) => {
    expect(new AnswerReader().push(text)).toBe("junk");
  });
});
