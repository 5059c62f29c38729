/**
 * Gathers the body of a request: JSON in UTF-8 by its headers, and no larger than allowed.
 *
 * Invariant: what is kept takes at most twice its bytes, however small the chunks are in which it arrives. Kept as they come, a million chunks
 * of one byte took 400 MB.
 */
import type { IncomingMessage } from "node:http";
import { Problem } from "../../contract/problem.ts";

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;
const EMPTY = Buffer.alloc(0);

/** Calls `fail` or `done`, once; neither if the caller goes before its body is here. `hold` is called with the bytes of each part. */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  hold: (bytes: number) => void,
  fail: (problem: Problem) => void,
  done: (bytes: Buffer) => void,
): void {
  const refused = refusalOf(request, bytesMax);
  if (refused !== undefined) {
    fail(refused);
    return;
  }
  let kept: Buffer = EMPTY;
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    const end = size + chunk.length;
    if (end > bytesMax) {
      // What is still to come is read and dropped by Node, within the time of a request.
      request.removeAllListeners("data").removeAllListeners("end");
      request.resume();
      fail(tooLarge(bytesMax));
      return;
    }
    if (size === 0) {
      kept = chunk;
    } else {
      if (end > kept.length) kept = grown(kept, Math.min(bytesMax, 2 * end));
      chunk.copy(kept, size);
    }
    size = end;
    hold(chunk.length);
  });
  request.on("end", () => done(kept.subarray(0, size)));
  // A caller that goes in mid-body needs no answer.
  request.on("error", () => {});
}

function grown(bytes: Buffer, capacity: number): Buffer {
  const larger = Buffer.allocUnsafe(capacity);
  bytes.copy(larger);
  return larger;
}

function refusalOf({ headers }: IncomingMessage, bytesMax: number): Problem | undefined {
  const { "content-type": type, "content-encoding": encoding, "content-length": length } = headers;
  if (length !== undefined && Number(length) > bytesMax) return tooLarge(bytesMax);
  if (type !== "application/json" && (type === undefined || !JSON_TYPE.test(type))) {
    return new Problem("unsupported_media_type", "The Content-Type must be application/json with UTF-8.");
  }
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return new Problem("unsupported_media_type", "The body must be sent without a Content-Encoding.");
  }
  return undefined;
}

function tooLarge(bytesMax: number): Problem {
  return new Problem(
    "body_too_large",
    `The body is larger than ${bytesMax} bytes, the maximum of this server (setting http.bodyMax).`,
  );
}
