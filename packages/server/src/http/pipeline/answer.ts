/** Writes the answer of a route: status 200, JSON, and the headers of the limit that was checked. */
import { rateHeadersOf } from "../routes/rate-headers.ts";
import type { Answer, Route } from "../routes/route.ts";
import type { RequestContext } from "./request-context.ts";

const JSON_TYPE = "application/json; charset=utf-8";

export function sendAnswer(
  { response, requestId, turn }: RequestContext,
  { write }: Route,
  { data, pagination, checked }: Answer,
  wallMs: () => number,
): void {
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
