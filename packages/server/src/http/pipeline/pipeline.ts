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
import type { Socket } from "node:net";
import type { Caller } from "../../access/caller.ts";
import { ARRIVAL_COST, Quota } from "../../access/quota.ts";
import { PROBLEMS, Problem } from "../../contract/problem.ts";
import { Decisions } from "../../decisions/decisions.ts";
import type { ApiParts } from "../api-server.ts";
import { authenticate } from "./authentication.ts";
import { AuthenticationBrake } from "./authentication-brake.ts";
import { brokenRequestAnswer } from "./broken-request.ts";
import { Connections } from "./connections.ts";
import type { Exchange } from "./request-context.ts";
import { hasSeveralHosts, hostCheck } from "./host-check.ts";
import { parseJsonBody } from "./json-text.ts";
import { PAGES } from "../pages/pages.ts";
import { rateHeadersOf } from "../routes/rate-headers.ts";
import { problemOf, refuse } from "./refusal.ts";
import { readBody } from "./request-body.ts";
import { requestIds } from "./request-id.ts";
import type { Answer, Route, RouteParts } from "../routes/route.ts";
import { ROUTES } from "../routes/routes.ts";
import { Turnstile } from "../routes/turnstile.ts";

const HEADERS_MAX_BYTES = 16 * 1024;
/** Also for what comes before them, the handshake of TLS: Node would wait two minutes. */
const HEADERS_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
/** How often Node looks for requests that are late. */
const LATE_CHECK_MS = 500;
/** Maximum time for a client to read an answer: 1 MiB takes 20 s at 50 KiB/s. */
const SEND_TIMEOUT_MS = 20_000;
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
  const server =
    tls === null
      ? createServer(options)
      : createTlsServer({ ...options, ...tls, handshakeTimeout: options.headersTimeout });
  server.maxConnections = connectionsMax;
  const connections = new Connections(server, tls !== null, {
    sendTimeoutMs: SEND_TIMEOUT_MS,
    idleMaxMs: KEEP_ALIVE_MS + options.headersTimeout,
    onCut: (reason) => parts.tally.cut(reason),
  });
  const api = new Api(parts, connections);
  server.on("request", (request, response) => api.hear(request, response));
  // Before Node's own listener, which reports it as "clientError": without a handshake nothing can be sent, and `end` would never finish.
  server.prependListener("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
  server.on("clientError", brokenRequestAnswer(connections, parts.requestLog));
  return server;
}

class Api {
  readonly #parts: ApiParts;
  readonly #routeParts: RouteParts;
  readonly #connections: Connections;
  readonly #quota: Quota;
  readonly #brake: AuthenticationBrake;
  readonly #checkHost: (host: string | undefined) => Problem | undefined;
  readonly #nextId = requestIds();
  /** By path. */
  readonly #routes: ReadonlyMap<string, Route>;

  constructor(parts: ApiParts, connections: Connections) {
    this.#quota = new Quota(parts.limiter, parts.settings.quota, parts.wallMs);
    this.#parts = parts;
    const { limiter, directory, store, tally, hitters, wallMs, settings } = parts;
    this.#routeParts = {
      decisions: new Decisions({ limiter, directory, store, quota: this.#quota, tally, hitters }),
      directory,
      store,
      quota: this.#quota,
      hitters,
      turnstiles: { audit: new Turnstile(), rankings: new Turnstile() },
      overrideCaps: settings.overrideCaps,
      wallMs,
    };
    this.#connections = connections;
    this.#brake = new AuthenticationBrake(parts.log, parts.settings.connectionsMax);
    this.#checkHost = hostCheck(parts.settings.hosts);
    this.#routes = new Map(ROUTES.map((route) => [`/v2/${route.operation}`, route] as const));
  }

  hear(request: IncomingMessage, response: ServerResponse): void {
    const turn = this.#connections.begin(request, response);
    if (turn === null) return;
    const route = this.#routes.get(request.url!);
    const operation = route === undefined ? "other" : route.operation;
    const beganMs = performance.now();
    const exchange: Exchange = {
      requestId: this.#nextId(),
      operation,
      beganMs,
      request,
      response,
      turn,
      span: null,
      caller: null,
      body: undefined,
    };
    const fail = (error: unknown) => this.#refuse(exchange, error);
    try {
      const { host, authorization } = request.headers;
      if (hasSeveralHosts(request.rawHeaders))
        throw new Problem("invalid_input", "The request has several Host headers.");
      const misdirected = this.#checkHost(host);
      if (misdirected !== undefined) throw misdirected;
      if (route === undefined) {
        answerPage(exchange);
        return;
      }
      checkMethod(request, response, ["POST"]);
      const nowMs = this.#parts.wallMs();
      const caller = authenticate(this.#parts.directory, authorization, nowMs, this.#parts.settings.adminAgeMaxMs);
      exchange.caller = caller;
      // Only now: who has no key must not make spans.
      const span = this.#parts.tracer?.begin(operation, request.headers, beganMs) ?? null;
      exchange.span = span;
      const go = () => {
        readBody(request, this.#parts.settings.bodyMaxBytes, turn.made, fail, (bytes) => {
          this.#call(route, caller, exchange, bytes, fail);
        });
      };
      const taken = this.#quota.take(caller.workspace, ARRIVAL_COST);
      if (taken instanceof Promise)
        (span?.waited(taken) ?? taken).then((decision) => this.#quota.check(decision)).then(go, fail);
      else {
        if (taken !== null) this.#quota.check(taken);
        go();
      }
    } catch (error) {
      fail(error);
    }
  }

  #call(route: Route, caller: Caller, exchange: Exchange, bytes: Buffer, fail: (error: unknown) => void): void {
    try {
      const body = parseJsonBody(bytes);
      route.check(body);
      exchange.body = body;
      const answer = route.handle(this.#routeParts, caller, body, exchange.span);
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
        : `{"meta":{"requestId":"${requestId}"},"data":${route.write(data)}}`;
    const length = Buffer.byteLength(text);
    exchange.turn.made(length);
    const headers = ["content-type", JSON_TYPE, "content-length", String(length)];
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
    const problem = problemOf(error, this.#parts.log, exchange.requestId);
    const isUnknownKey = problem.kind === "key_not_found" && exchange.caller === null;
    const late = isUnknownKey ? this.#failedKey(exchange) : undefined;
    if (late !== undefined) this.#refuseLate(exchange, late);
    else if (refuse(exchange, problem)) this.#ended(exchange, problem.status, problem, null);
  }

  #failedKey({ request }: Exchange): Problem | undefined {
    this.#parts.tally.failedAuthentication();
    return this.#brake.failed(request.socket.remoteAddress, performance.now());
  }

  /** Counted and logged at once: the delay must not look like a slow server. */
  #refuseLate(exchange: Exchange, problem: Problem): void {
    this.#ended(exchange, problem.status, problem, null);
    exchange.request.resume();
    exchange.response.setHeader("connection", "close");
    this.#brake.delay(() => refuse(exchange, problem));
  }

  #ended(exchange: Exchange, status: number, problem: Problem | null, data: unknown): void {
    const { tally, requestLog } = this.#parts;
    const tookMs = performance.now() - exchange.beganMs;
    tally.answered(exchange.operation, status, tookMs);
    const { span } = exchange;
    if (requestLog === null && span === null) return;
    const ending = { status, tookMs, problem, data };
    span?.end({
      method: exchange.request.method!,
      namespace: namespaceIn(exchange.body),
      status,
      problem: problem === null ? null : PROBLEMS[problem.kind].type,
      data,
    });
    requestLog?.ended(exchange, ending);
  }
}

function namespaceIn(body: unknown): string | undefined {
  return (body as { readonly namespace?: string } | undefined)?.namespace;
}

function checkMethod({ method }: IncomingMessage, response: ServerResponse, allowed: readonly string[]): void {
  if (allowed.includes(method!)) return;
  response.setHeader("allow", allowed.join(", "));
  throw new Problem("method_not_allowed", `This route accepts ${allowed.join(" and ")} only.`);
}

function answerPage({ request, response, turn }: Exchange): void {
  const page = PAGES.get(request.url!.split("?", 1)[0]!);
  if (page === undefined) throw new Problem("route_not_found", "There is no such route. GET /docs lists them.");
  checkMethod(request, response, ["GET", "HEAD"]);
  const length = Buffer.byteLength(page.text);
  turn.made(length);
  response.writeHead(200, { ...page.headers, "content-length": length });
  response.end(page.text);
}
