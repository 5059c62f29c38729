/** The last step: what came of a request goes to the metrics, to its span and to the log. */
import { PROBLEMS, type Problem } from "../../contract/problem.ts";
import type { Tally } from "../../metrics/tally.ts";
import type { RequestContext } from "./request-context.ts";
import type { RequestLog } from "./request-log.ts";

export class RequestRecorder {
  readonly #tally: Tally;
  readonly #requestLog: RequestLog | null;

  constructor(tally: Tally, requestLog: RequestLog | null) {
    this.#tally = tally;
    this.#requestLog = requestLog;
  }

  /**
   * @param problem why it was refused; null if it was answered.
   * @param data what it was answered; null if it was refused.
   */
  record(context: RequestContext, status: number, problem: Problem | null, data: unknown): void {
    const { operation, beganMs, span, request, body } = context;
    const tookMs = performance.now() - beganMs;
    this.#tally.answered(operation, status, tookMs);
    span?.end({
      method: request.method!,
      namespace: namespaceIn(body),
      status,
      problem: problem === null ? null : PROBLEMS[problem.kind].type,
      data,
    });
    this.#requestLog?.ended(context, { status, tookMs, problem, data });
  }
}

function namespaceIn(body: unknown): string | undefined {
  return (body as { readonly namespace?: string } | undefined)?.namespace;
}
