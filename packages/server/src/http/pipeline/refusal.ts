/**
 * How a request is refused: whatever went wrong, in the one form that all problems have.
 *
 * What is nobody's mistake but ours is logged with its stack, and told without it.
 */
import { type Refusal, refusalOf } from "../../access/refusal.ts";
import { Problem } from "../../contract/problem.ts";
import type { Log } from "../../log/log.ts";
import type { Exchange } from "./request-context.ts";

export function problemOf(error: unknown, log: Log, requestId: string): Problem {
  if (error instanceof Problem) return error;
  const refusal = refusalOf(error);
  if (refusal !== undefined) return problemOfRefusal(refusal);
  log.error("request.failed", {
    requestId,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return new Problem("internal_error", "This should not have happened. The server's log says more.");
}

/** Refusals have the names of problems, and their fields those of a body. */
function problemOfRefusal({ kind, message, at, retryAfterS }: Refusal): Problem {
  if (at === undefined) return new Problem(kind, message, retryAfterS === undefined ? {} : { retryAfterS });
  const item = at.item === undefined ? "" : `[${at.item}]`;
  return Problem.at(`body${item}.${at.field}`, message, at.fix);
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
