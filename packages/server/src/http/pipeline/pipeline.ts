/**
 * The path of one request through the API, step by step. Each step is a file of this folder:
 *
 *   1. connection      connections.ts      what one connection may hold; broken-request.ts answers bytes that are not a request
 *   2. host            host-check.ts       whether the request is for this server
 *   3. route           route-lookup.ts     route and method; a page is answered here (page-answer.ts)
 *   4. authentication  authentication.ts   key and workspace; authentication-brake.ts slows down whoever guesses keys
 *   5. span            ../../traces        after the authentication: unauthenticated requests must not create spans
 *   6. quota           arrival-quota.ts    what every request costs of the workspace's quota
 *   7. body            request-body.ts     size and type; then JSON (json-text.ts) and the route's schema (../routes/validation.ts)
 *   8. handler         ../routes           permission and the rest; decisions are made in ../../decisions
 *   9. answer          answer.ts           or, after the first step that failed, refusal.ts
 *  10. record          record.ts           metrics, span, and the log (request-log.ts)
 *
 * The first step that fails ends the request with a problem, and nothing was counted. A request that is decided from memory, and whose
 * quota is, goes from its body to its answer without a promise.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../../access/caller.ts";
import type { Quota } from "../../access/quota.ts";
import type { Directory } from "../../admin/directory.ts";
import type { Log } from "../../log/log.ts";
import type { Tally } from "../../metrics/tally.ts";
import type { Tracer } from "../../traces/tracer.ts";
import { type Page, pagesOf } from "../pages/pages.ts";
import type { Answer, Route, RouteParts } from "../routes/route.ts";
import { sendAnswer } from "./answer.ts";
import { chargeArrival } from "./arrival-quota.ts";
import { authenticate } from "./authentication.ts";
import { AuthenticationBrake } from "./authentication-brake.ts";
import type { Connections, Turn } from "./connections.ts";
import { checkHost, type HostCheck, hostCheck } from "./host-check.ts";
import { parseJsonBody } from "./json-text.ts";
import { answerPage } from "./page-answer.ts";
import { RequestRecorder } from "./record.ts";
import { RefusalStep } from "./refusal.ts";
import { readBody } from "./request-body.ts";
import type { RequestContext } from "./request-context.ts";
import { requestIds } from "./request-id.ts";
import type { RequestLog } from "./request-log.ts";
import { checkMethod, routeOf } from "./route-lookup.ts";

export interface PipelineSettings {
  /** Names of this server in a request's Host; null: any. */
  readonly hosts: readonly string[] | null;
  readonly bodyMaxBytes: number;
  readonly connectionsMax: number;
  /** Whether the live page is served. */
  readonly hasUi: boolean;
  /** How old the directory may be while the store cannot be read; null: any age. */
  readonly adminAgeMaxMs: number | null;
}

export interface PipelineParts {
  readonly connections: Connections;
  readonly directory: Directory;
  readonly quota: Quota;
  readonly routeParts: RouteParts;
  /** Null: nothing is traced. */
  readonly tracer: Tracer | null;
  /** Counts every answer. */
  readonly tally: Tally;
  /** Null: requests are not logged. */
  readonly requestLog: RequestLog | null;
  readonly log: Log;
  readonly settings: PipelineSettings;
  readonly wallMs: () => number;
}

const METHODS = ["POST"];

export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #problemOfHost: HostCheck;
  readonly #pages: ReadonlyMap<string, Page>;
  readonly #recorder: RequestRecorder;
  readonly #refusal: RefusalStep;
  readonly #nextId = requestIds();

  constructor(parts: PipelineParts) {
    const { tally, requestLog, log, settings } = parts;
    this.#parts = parts;
    this.#problemOfHost = hostCheck(settings.hosts);
    this.#pages = pagesOf(settings.hasUi);
    this.#recorder = new RequestRecorder(tally, requestLog);
    const brake = new AuthenticationBrake(log, settings.connectionsMax);
    this.#refusal = new RefusalStep({ log, tally, brake, recorder: this.#recorder });
  }

  /** Steps 1 to 6. */
  run(request: IncomingMessage, response: ServerResponse): void {
    const { connections, directory, quota, tracer, settings, wallMs } = this.#parts;
    const turn = connections.begin(request, response);
    if (turn === null) return;
    const route = routeOf(request.url!);
    const context = this.#contextOf(request, response, turn, route);
    try {
      checkHost(request, this.#problemOfHost);
      if (route === undefined) {
        answerPage(context, this.#pages);
        return;
      }
      checkMethod(context, METHODS);
      const caller = authenticate(directory, request.headers.authorization, wallMs(), settings.adminAgeMaxMs);
      context.caller = caller;
      context.span = tracer?.begin(context.operation, request.headers, context.beganMs) ?? null;
      const charged = chargeArrival(quota, caller.workspace, context.span);
      if (charged === undefined) this.#receive(context, route, caller);
      else
        charged.then(
          () => this.#receive(context, route, caller),
          (error: unknown) => this.#refusal.refuse(context, error),
        );
    } catch (error) {
      this.#refusal.refuse(context, error);
    }
  }

  /** Step 7: calls `#handle` when the body is here. */
  #receive(context: RequestContext, route: Route, caller: Caller): void {
    const { request, turn } = context;
    readBody(
      request,
      this.#parts.settings.bodyMaxBytes,
      turn.made,
      (problem) => this.#refusal.refuse(context, problem),
      (bytes) => this.#handle(context, route, caller, bytes),
    );
  }

  /** Steps 7 and 8. */
  #handle(context: RequestContext, route: Route, caller: Caller, bytes: Buffer): void {
    try {
      const body = parseJsonBody(bytes);
      route.check(body);
      context.body = body;
      const answer = route.handle(this.#parts.routeParts, caller, body, context.span);
      if (answer instanceof Promise)
        answer
          .then((late) => this.#answer(context, route, late))
          .catch((error: unknown) => this.#refusal.refuse(context, error));
      else this.#answer(context, route, answer);
    } catch (error) {
      this.#refusal.refuse(context, error);
    }
  }

  /** Steps 9 and 10. */
  #answer(context: RequestContext, route: Route, answer: Answer): void {
    sendAnswer(context, route, answer, this.#parts.wallMs);
    this.#recorder.record(context, 200, null, answer.data);
  }

  #contextOf(request: IncomingMessage, response: ServerResponse, turn: Turn, route: Route | undefined): RequestContext {
    return {
      requestId: this.#nextId(),
      operation: route === undefined ? "other" : route.operation,
      beganMs: performance.now(),
      request,
      response,
      turn,
      caller: null,
      span: null,
      body: undefined,
    };
  }
}
