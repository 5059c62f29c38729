/** Writes the answer of a route: status 200, JSON (or text, or a stream), and the headers of the limit that was checked. */
import type { ServerResponse } from "node:http";
import type { LiveSink } from "../../live/live-desk.ts";
import { rateHeadersOf } from "../routes/rate-headers.ts";
import type { Answer, Route } from "../routes/route.ts";
import type { RequestContext } from "./request-context.ts";

const JSON_TYPE = "application/json; charset=utf-8";

export function sendAnswer(
  { response, requestId, turn }: RequestContext,
  { write }: Route,
  { data, pagination, checked, raw, stream }: Answer,
  wallMs: () => number,
): void {
  if (stream !== undefined) {
    // The connection ends with the stream: a server that stops need not wait for another request on it.
    const headers = { "content-type": "text/event-stream", "cache-control": "no-store", connection: "close" };
    response.writeHead(200, { ...headers, "x-accel-buffering": "no" });
    stream(sinkOf(response));
    return;
  }
  if (raw !== undefined) {
    const length = Buffer.byteLength(raw.text);
    turn.made(length);
    response.writeHead(200, { "content-type": raw.type, "content-length": length });
    response.end(raw.text);
    return;
  }
  const meta = { requestId };
  const text =
    write === undefined
      ? JSON.stringify(pagination === undefined ? { meta, data } : { meta, data, pagination })
      : `{"meta":{"requestId":"${requestId}"},"data":${write(data)}}`;
  const length = Buffer.byteLength(text);
  turn.made(length);
  const headers = ["content-type", JSON_TYPE, "content-length", String(length)];
  if (checked !== undefined) {
    const { policy, rateLimit, retryAfter } = rateHeadersOf(checked, wallMs());
    headers.push("ratelimit-policy", policy, "ratelimit", rateLimit);
    if (retryAfter !== undefined) headers.push("retry-after", retryAfter);
  }
  response.writeHead(200, headers);
  response.end(text);
}

function sinkOf(response: ServerResponse): LiveSink {
  return {
    get isFree() {
      return response.writableLength === 0;
    },
    write: (text) => {
      response.write(text);
    },
    end: () => {
      response.end();
    },
    onClose: (callback) => {
      response.once("close", callback);
    },
  };
}
