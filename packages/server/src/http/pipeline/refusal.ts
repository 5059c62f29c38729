/**
 * How a request is refused: whatever went wrong, in the one form that all problems have.
 *
 * What is nobody's mistake but ours is logged with its stack, and told without it.
 */
import { type Refusal, refusalOf } from "../../access/refusal.ts";
import { Problem } from "../../contract/problem.ts";
import type { Log } from "../../log/log.ts";
import type { Tally } from "../../metrics/tally.ts";
import type { AuthenticationBrake } from "./authentication-brake.ts";
import type { RequestRecorder } from "./record.ts";
import type { RequestContext } from "./request-context.ts";

interface RefusalParts {
  readonly log: Log;
  readonly tally: Tally;
  readonly brake: AuthenticationBrake;
  readonly recorder: RequestRecorder;
}

export class RefusalStep {
  readonly #parts: RefusalParts;

  constructor(parts: RefusalParts) {
    this.#parts = parts;
  }

  refuse(context: RequestContext, error: unknown): void {
    const { log, recorder } = this.#parts;
    const problem = problemOf(error, log, context.requestId);
    const isUnknownKey = problem.kind === "key_not_found" && context.caller === null;
    const late = isUnknownKey ? this.#failedKey(context) : undefined;
    if (late !== undefined) this.#refuseLate(context, late);
    else if (sendProblem(context, problem)) recorder.record(context, problem.status, problem, null);
  }

  #failedKey({ request }: RequestContext): Problem | undefined {
    const { tally, brake } = this.#parts;
    tally.failedAuthentication();
    return brake.failed(request.socket.remoteAddress, performance.now());
  }

  /** Counted and logged at once: the delay must not look like a slow server. */
  #refuseLate(context: RequestContext, problem: Problem): void {
    const { brake, recorder } = this.#parts;
    recorder.record(context, problem.status, problem, null);
    context.request.resume();
    context.response.setHeader("connection", "close");
    brake.delay(() => sendProblem(context, problem));
  }
}

export function problemOf(error: unknown, log: Log, requestId: string): Problem {
  if (error instanceof Problem) return error;
  const refusal = refusalOf(error);
  if (refusal !== undefined) return problemOfRefusal(refusal);
  log.error("request.failed", {
    requestId,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return new Problem("internal_error", "Internal error. The server's log has the details, under this request id.");
}

/** Refusals have the names of problems, and their fields those of a body. */
function problemOfRefusal({ kind, message, at, retryAfterS }: Refusal): Problem {
  if (at === undefined) return new Problem(kind, message, retryAfterS === undefined ? {} : { retryAfterS });
  const item = at.item === undefined ? "" : `[${at.item}]`;
  return Problem.at(`body${item}.${at.field}`, message, at.fix);
}

/** False if there is nobody to answer: the client has gone, or was answered. */
function sendProblem({ request, response, requestId, turn }: RequestContext, problem: Problem): boolean {
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
