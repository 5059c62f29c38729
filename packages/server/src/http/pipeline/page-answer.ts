/** The answer to a request that is not in the table of routes: a page, or the problem that there is none. */
import { Problem } from "../../contract/problem.ts";
import { PAGES } from "../pages/pages.ts";
import type { RequestContext } from "./request-context.ts";
import { checkMethod } from "./route-lookup.ts";

/** @throws Problem */
export function answerPage(context: RequestContext): void {
  const { request, response, turn } = context;
  const page = PAGES.get(request.url!.split("?", 1)[0]!);
  if (page === undefined) throw new Problem("route_not_found", "There is no such route. GET /docs lists them.");
  checkMethod(context, ["GET", "HEAD"]);
  const length = Buffer.byteLength(page.text);
  turn.made(length);
  response.writeHead(200, { ...page.headers, "content-length": length });
  response.end(page.text);
}
