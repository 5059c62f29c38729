/** The route of a request, by its path, and the methods that it accepts. */
import { Problem } from "../../contract/problem.ts";
import type { Route } from "../routes/route.ts";
import { ROUTES } from "../routes/routes.ts";
import type { RequestContext } from "./request-context.ts";

const BY_PATH: ReadonlyMap<string, Route> = new Map(ROUTES.map((route) => [`/v2/${route.operation}`, route] as const));

/** Undefined: not in the table of routes. */
export function routeOf(path: string): Route | undefined {
  return BY_PATH.get(path);
}

/** @throws Problem */
export function checkMethod({ request, response }: RequestContext, allowed: readonly string[]): void {
  if (allowed.includes(request.method!)) return;
  response.setHeader("allow", allowed.join(", "));
  throw new Problem("method_not_allowed", `This route accepts ${allowed.join(" and ")} only.`);
}
