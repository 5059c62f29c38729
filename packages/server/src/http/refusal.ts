/**
 * How a request is refused: whatever went wrong, in the one form that all problems have.
 *
 * What is nobody's mistake but ours is logged with its stack, and told without it.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { AdminStoreAway } from "../admin/admin-store.ts";
import type { Log } from "../serve/log.ts";
import { Problem } from "./problem.ts";
import { problemOfFindings } from "./validation.ts";

/** Long enough for a store or a server to come back, short enough to be tried. */
const RETRY_AFTER_S = 1;

/** What Node and Fastify refuse by themselves, in our words. */
const CODES: Readonly<Record<string, () => Problem>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new Problem("body_too_large", "The body is larger than this server takes."),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: mediaType,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => Problem.at("body", "must be as long as Content-Length says"),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => Problem.at("body", "must be JSON; got nothing"),
  // The caller has gone in the middle of its body: nobody reads this.
  ECONNRESET: () => Problem.at("body", "must be sent whole"),
  FST_ERR_BAD_URL: () => new Problem("route_not_found", "There is no such route. GET /docs lists them."),
};

function mediaType(): Problem {
  return new Problem("unsupported_media_type", "The Content-Type must be application/json, in UTF-8.");
}

export function problemOf(error: unknown, log: Log): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof AdminStoreAway) {
    const detail = "The store of namespaces, overrides and keys is away. Try again.";
    return new Problem("unavailable", detail, { retryAfterS: RETRY_AFTER_S });
  }
  const { code, validation } = error as { code?: string; validation?: Parameters<typeof problemOfFindings>[0] };
  if (validation !== undefined) return problemOfFindings(validation);
  if (code === "RL_CLOSED") {
    return new Problem("unavailable", "The server is stopping. Try again.", { retryAfterS: RETRY_AFTER_S });
  }
  const known = code === undefined ? undefined : CODES[code];
  if (known !== undefined) return known();
  log.error("request.failed", { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return new Problem("internal_error", "This should not have happened. The server's log says more.");
}

export function refuse(reply: FastifyReply, request: FastifyRequest, problem: Problem): void {
  const wantsProblem = request.headers.accept?.includes("application/problem+json") === true;
  reply.code(problem.status);
  reply.header("content-type", wantsProblem ? "application/problem+json" : "application/json");
  if (problem.retryAfterS !== undefined) reply.header("retry-after", String(problem.retryAfterS));
  if (problem.kind === "malformed_authorization" || problem.kind === "key_not_found") {
    reply.header("www-authenticate", "Bearer");
  }
  // As text: the answer must have this form even where a schema for the status is wanting.
  reply.serializer(JSON.stringify);
  reply.send(problem.toBody(request.id));
}
