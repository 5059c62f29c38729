/**
 * How a request is refused: whatever went wrong, in the one form that all problems have.
 *
 * What is nobody's mistake but ours is logged with its stack, and told without it.
 */
import { AdminStoreAway, NamespaceLimitReached, TooManyChanges } from "../admin/admin-store.ts";
import { Problem } from "../contract/problem.ts";
import type { Log } from "../log/log.ts";
import type { Exchange } from "./exchange.ts";

/** Long enough for a store or a server to come back, short enough to be tried. */
const RETRY_AFTER_S = 1;

export function problemOf(error: unknown, log: Log, requestId: string): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof AdminStoreAway) {
    const detail = "The store of namespaces, overrides and keys is away. Try again.";
    return new Problem("unavailable", detail, { retryAfterS: RETRY_AFTER_S });
  }
  if (error instanceof TooManyChanges) {
    const detail = `The change was not made: ${error.message}. Try again.`;
    return new Problem("unavailable", detail, { retryAfterS: RETRY_AFTER_S });
  }
  if (error instanceof NamespaceLimitReached) {
    const advice = "Delete some, or let the server's setting namespacesMax be larger.";
    return new Problem("namespace_limit_reached", `No new namespace: ${error.message}. ${advice}`);
  }
  if ((error as { code?: unknown } | null)?.code === "RL_CLOSED") {
    return new Problem("unavailable", "The server is stopping. Try again.", { retryAfterS: RETRY_AFTER_S });
  }
  log.error("request.failed", {
    requestId,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return new Problem("internal_error", "This should not have happened. The server's log says more.");
}

/** False if there was nobody to tell: the caller has gone, or was answered. */
export function refuse({ request, response, requestId, turn }: Exchange, problem: Problem): boolean {
  if (response.headersSent || response.destroyed) return false;
  const wantsProblem = request.headers.accept?.includes("application/problem+json") === true;
  const text = JSON.stringify(problem.toBody(requestId));
  response.setHeader("content-type", wantsProblem ? "application/problem+json" : "application/json");
  const length = Buffer.byteLength(text);
  turn.made(length);
  response.setHeader("content-length", length);
  if (problem.retryAfterS !== undefined) response.setHeader("retry-after", String(problem.retryAfterS));
  if (problem.kind === "malformed_authorization" || problem.kind === "key_not_found") {
    response.setHeader("www-authenticate", "Bearer");
  }
  response.writeHead(problem.status);
  response.end(text);
  return true;
}
