/**
 * The HTTP API as a server: the table of routes on node:http, with its doors guarded.
 *
 * Order of a request: host, route and method; key and workspace; the workspace's quota; body (size, type, JSON, schema); permission and
 * the rest by the route. The first that fails answers, and nothing was counted.
 *
 * On node:http itself: every route is a POST to a fixed path, and a framework would take part of the throughput
 * (docs/decisions/0016-the-api-on-node-http.md).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { ApiParts } from "./api.ts";
import { authenticate, type Caller } from "./authentication.ts";
import { brokenRequestAnswer } from "./broken-request.ts";
import type { Answer } from "./call.ts";
import type { Exchange } from "./exchange.ts";
import { hostCheck } from "./host-check.ts";
import { parseJsonBody } from "./json-text.ts";
import { PAGES } from "./pages.ts";
import { Problem } from "./problem.ts";
import { checkQuota, Quota } from "./quota.ts";
import { rateHeadersOf } from "./rate-headers.ts";
import { problemOf, refuse } from "./refusal.ts";
import { readBody } from "./request-body.ts";
import { requestIds } from "./request-id.ts";
import { ROUTES, type Route } from "./routes.ts";
import { type BodyCheck, bodyCheck } from "./validation.ts";

const HEADERS_MAX_BYTES = 16 * 1024;
/** Also for what comes before them, the handshake of TLS: Node would wait two minutes. */
const HEADERS_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
/** How often Node looks for requests that are late. */
const LATE_CHECK_MS = 1_000;
const JSON_TYPE = "application/json; charset=utf-8";

/** A server that does not listen yet. */
export function createApi(parts: ApiParts): Server {
  const { tls, requestTimeoutMs, connectionsMax } = parts.settings;
  const options = {
    maxHeaderSize: HEADERS_MAX_BYTES,
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: LATE_CHECK_MS,
  };
  const api = new Api(parts);
  const hear = (request: IncomingMessage, response: ServerResponse) => api.hear(request, response);
  const server =
    tls === null
      ? createServer(options, hear)
      : createTlsServer({ ...options, ...tls, handshakeTimeout: HEADERS_TIMEOUT_MS }, hear);
  server.maxConnections = connectionsMax;
  server.on("clientError", brokenRequestAnswer(parts.requestLog));
  return server;
}

interface Entry {
  readonly route: Route;
  readonly check: BodyCheck;
}

class Api {
  readonly #parts: ApiParts;
  readonly #quota: Quota;
  readonly #checkHost: (host: string | undefined) => Problem | undefined;
  readonly #nextId = requestIds();
  /** By path. */
  readonly #routes: ReadonlyMap<string, Entry>;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#quota = new Quota(parts.limiter, parts.settings.quota);
    this.#checkHost = hostCheck(parts.settings.hosts);
    this.#routes = new Map(
      ROUTES.map((route) => [`/v2/${route.operation}`, { route, check: bodyCheck(route.body) }] as const),
    );
  }

  hear(request: IncomingMessage, response: ServerResponse): void {
    const entry = this.#routes.get(request.url!);
    const operation = entry === undefined ? "other" : entry.route.operation;
    const beganMs = performance.now();
    const exchange: Exchange = {
      requestId: this.#nextId(),
      operation,
      beganMs,
      request,
      response,
      span: null,
      caller: null,
      body: undefined,
    };
    const fail = (error: unknown) => this.#refuse(exchange, error);
    try {
      const { host, authorization } = request.headers;
      const misdirected = this.#checkHost(host);
      if (misdirected !== undefined) throw misdirected;
      if (entry === undefined) {
        answerPage(request, response);
        return;
      }
      checkMethod(request, response, "POST");
      const nowMs = this.#parts.wallMs();
      const caller = authenticate(this.#parts.directory, authorization, nowMs);
      exchange.caller = caller;
      // Only now: who has no key must not make spans.
      const span = this.#parts.tracer?.begin(operation, request.headers, beganMs) ?? null;
      exchange.span = span;
      const go = () => {
        readBody(request, this.#parts.settings.bodyMaxBytes, fail, (bytes) => {
          this.#call(entry, caller, exchange, bytes, fail);
        });
      };
      const taken = this.#quota.take(caller.workspace);
      if (taken instanceof Promise)
        (span?.waited(taken) ?? taken).then((decision) => checkQuota(decision, nowMs)).then(go, fail);
      else {
        if (taken !== null) checkQuota(taken, nowMs);
        go();
      }
    } catch (error) {
      fail(error);
    }
  }

  #call(
    { route, check }: Entry,
    caller: Caller,
    exchange: Exchange,
    bytes: Buffer,
    fail: (error: unknown) => void,
  ): void {
    try {
      const body = parseJsonBody(bytes);
      check(body);
      exchange.body = body;
      const { span } = exchange;
      const parts = span === null ? this.#parts : { ...this.#parts, limiter: span.around(this.#parts.limiter) };
      const answer = route.handle(parts, caller, body as never);
      if (answer instanceof Promise) answer.then((one) => this.#answer(route, exchange, one)).catch(fail);
      else this.#answer(route, exchange, answer);
    } catch (error) {
      fail(error);
    }
  }

  #answer(route: Route, exchange: Exchange, { data, pagination, checked }: Answer): void {
    const { response, requestId } = exchange;
    const meta = { requestId };
    const text =
      route.write === undefined
        ? JSON.stringify(pagination === undefined ? { meta, data } : { meta, data, pagination })
        : `{"meta":{"requestId":"${requestId}"},"data":${route.write(data as never)}}`;
    const headers = ["content-type", JSON_TYPE, "content-length", String(Buffer.byteLength(text))];
    if (checked !== undefined) {
      const { policy, rateLimit, retryAfter } = rateHeadersOf(checked, this.#parts.wallMs());
      headers.push("ratelimit-policy", policy, "ratelimit", rateLimit);
      if (retryAfter !== undefined) headers.push("retry-after", retryAfter);
    }
    response.writeHead(200, headers);
    response.end(text);
    this.#ended(exchange, 200, null, data);
  }

  #refuse(exchange: Exchange, error: unknown): void {
    const { request, response, requestId } = exchange;
    const problem = problemOf(error, this.#parts.log, requestId);
    if (refuse(request, response, requestId, problem)) this.#ended(exchange, problem.status, problem, null);
  }

  #ended(exchange: Exchange, status: number, problem: Problem | null, data: unknown): void {
    const { tally, requestLog } = this.#parts;
    const tookMs = performance.now() - exchange.beganMs;
    tally.answered(exchange.operation, status, tookMs);
    const { span } = exchange;
    if (requestLog === null && span === null) return;
    const ending = { status, tookMs, problem, data };
    span?.end(exchange.request.method!, namespaceIn(exchange.body), ending);
    requestLog?.ended(exchange, ending);
  }
}

function namespaceIn(body: unknown): string | undefined {
  return (body as { readonly namespace?: string } | undefined)?.namespace;
}

function checkMethod(request: IncomingMessage, response: ServerResponse, allowed: string): void {
  if (request.method === allowed) return;
  response.setHeader("allow", allowed);
  throw new Problem("method_not_allowed", `This route is asked by ${allowed}.`);
}

function answerPage(request: IncomingMessage, response: ServerResponse): void {
  const page = PAGES.get(request.url!.split("?", 1)[0]!);
  if (page === undefined) throw new Problem("route_not_found", "There is no such route. GET /docs lists them.");
  checkMethod(request, response, "GET");
  response.writeHead(200, { ...page.headers, "content-length": Buffer.byteLength(page.text) });
  response.end(page.text);
}
