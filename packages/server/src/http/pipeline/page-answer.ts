/** The answer to a request that is not in the table of routes: a page, or the problem that there is none. */
import { Problem } from "../../contract/problem.ts";
import type { Page } from "../pages/pages.ts";
import type { RequestContext } from "./request-context.ts";
import { checkMethod } from "./route-lookup.ts";

/** @throws Problem */
export function answerPage(context: RequestContext, pages: ReadonlyMap<string, Page>): void {
  const { request, response, turn } = context;
  const page = pages.get(request.url!.split("?", 1)[0]!);
  if (page === undefined) throw new Problem("route_not_found", "There is no such route. GET /docs lists them.");
  checkMethod(context, ["GET", "HEAD"]);
  const { etag } = page.headers;
  if (etag !== undefined && request.headers["if-none-match"] === etag) {
    response.writeHead(304, page.headers);
    response.end();
    return;
  }
  const isSmall = page.gzip !== undefined && /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const body = isSmall && page.gzip !== undefined ? page.gzip : page.text;
  const length = Buffer.byteLength(body);
  turn.made(length);
  const headers = { ...page.headers, ...(isSmall ? { "content-encoding": "gzip" } : {}), "content-length": length };
  response.writeHead(page.status ?? 200, headers);
  response.end(body);
}
