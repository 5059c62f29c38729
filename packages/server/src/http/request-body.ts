/** Gathers the body of a request: JSON in UTF-8 by its headers, and no larger than allowed. */
import type { IncomingMessage } from "node:http";
import { Problem } from "./problem.ts";

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/** Calls one of the two, once; neither if the caller goes before its body is here. */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  fail: (problem: Problem) => void,
  done: (bytes: Buffer) => void,
): void {
  const refused = refusalOf(request, bytesMax);
  if (refused !== undefined) {
    fail(refused);
    return;
  }
  let first: Buffer | undefined;
  let more: Buffer[] | undefined;
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > bytesMax) {
      // What is still to come is read and dropped by Node, within the time of a request.
      request.removeAllListeners("data").removeAllListeners("end");
      request.resume();
      fail(tooLarge(bytesMax));
    } else if (first === undefined) {
      first = chunk;
    } else {
      more ??= [first];
      more.push(chunk);
    }
  });
  request.on("end", () => done(more === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(more)));
  // A caller that goes in mid-body needs no answer.
  request.on("error", () => {});
}

function refusalOf({ headers }: IncomingMessage, bytesMax: number): Problem | undefined {
  const { "content-type": type, "content-encoding": encoding, "content-length": length } = headers;
  if (length !== undefined && Number(length) > bytesMax) return tooLarge(bytesMax);
  if (type !== "application/json" && (type === undefined || !JSON_TYPE.test(type))) {
    return new Problem("unsupported_media_type", "The Content-Type must be application/json, in UTF-8.");
  }
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return new Problem("unsupported_media_type", "The body must be sent without a Content-Encoding.");
  }
  return undefined;
}

function tooLarge(bytesMax: number): Problem {
  return new Problem("body_too_large", `The body is larger than the ${bytesMax} bytes that this server takes.`);
}
