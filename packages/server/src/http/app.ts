/**
 * The HTTP API as a server: the table of routes behind Fastify, with its doors guarded.
 *
 * Order of a request: host, method and route; key and workspace; the workspace's quota; body (size, type, JSON, schema); permission and
 * the rest by the route. The first that fails answers, and nothing was counted.
 */
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { ApiParts } from "./api.ts";
import { authenticate, type Caller } from "./authentication.ts";
import { answerToBrokenRequest } from "./broken-request.ts";
import type { Answer } from "./call.ts";
import { hostCheck } from "./host-check.ts";
import { parseJsonBody } from "./json-text.ts";
import { openApiOf } from "./openapi.ts";
import { Problem } from "./problem.ts";
import { checkQuota, Quota } from "./quota.ts";
import { rateHeadersOf } from "./rate-headers.ts";
import { referencePage } from "./reference-page.ts";
import { problemOf, refuse } from "./refusal.ts";
import { requestIds } from "./request-id.ts";
import { ROUTES } from "./routes.ts";
import { answerOf } from "./schemas.ts";

const HEADERS_MAX_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
const PREFIX = "/v2/";

declare module "fastify" {
  interface FastifyRequest {
    /** Set once the key was found good. */
    caller: Caller | null;
  }
}

export function createApi(parts: ApiParts): FastifyInstance {
  const { settings } = parts;
  const app = Fastify({
    logger: false,
    genReqId: requestIds(),
    requestIdHeader: false,
    bodyLimit: settings.bodyMaxBytes,
    requestTimeout: settings.requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Who is on the way while a server stops is answered, and told to connect anew.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    exposeHeadRoutes: false,
    http: { maxHeaderSize: HEADERS_MAX_BYTES, headersTimeout: Math.min(HEADERS_TIMEOUT_MS, settings.requestTimeoutMs) },
    ...(settings.tls === null ? {} : { https: settings.tls }),
    clientErrorHandler: answerToBrokenRequest,
    frameworkErrors: (error, request, reply) => refuse(reply, request, problemOf(error, parts.log)),
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: true,
        verbose: true,
        keywords: ["rule"],
      },
    },
  }) as unknown as FastifyInstance;
  app.server.maxConnections = settings.connectionsMax;
  app.decorateRequest("caller", null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i, { parseAs: "buffer" }, readBody);
  app.setErrorHandler((error, request, reply) => refuse(reply, request, problemOf(error, parts.log)));
  app.setNotFoundHandler((request, reply) => refuse(reply, request, notFound(request, reply)));
  const checkHost = hostCheck(settings.hosts);
  app.addHook("onRequest", (request, _reply, done) => {
    done(checkHost(request.headers.host));
  });
  addApi(app, parts);
  addPages(app);
  return app;
}

function addApi(app: FastifyInstance, parts: ApiParts): void {
  const quota = new Quota(parts.limiter, parts.settings.quota);
  for (const route of ROUTES) {
    app.route({
      method: "POST",
      url: PREFIX + route.operation,
      schema: { body: route.body, response: { 200: answerOf(route.data, route.isList) } },
      onRequest: (request, _reply, done) => {
        const nowMs = parts.wallMs();
        const caller = authenticate(parts.directory, request.headers.authorization, nowMs);
        request.caller = caller;
        const taken = quota.take(caller.workspace);
        if (taken instanceof Promise) {
          taken.then((decision) => checkQuota(decision, nowMs)).then(() => done(), done);
          return;
        }
        if (taken !== null) checkQuota(taken, nowMs);
        done();
      },
      handler: (request, reply) => {
        const answer = route.handle(parts, request.caller!, request.body as never);
        if (!(answer instanceof Promise)) answerWith(parts, request, reply, answer);
        else {
          answer.then(
            (one) => answerWith(parts, request, reply, one),
            (error: unknown) => refuse(reply, request, problemOf(error, parts.log)),
          );
        }
      },
    });
  }
}

function answerWith(
  { wallMs }: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { data, pagination, checked }: Answer,
): void {
  if (checked !== undefined) {
    const { policy, rateLimit, retryAfter } = rateHeadersOf(checked, wallMs());
    reply.header("ratelimit-policy", policy);
    reply.header("ratelimit", rateLimit);
    if (retryAfter !== undefined) reply.header("retry-after", retryAfter);
  }
  const meta = { requestId: request.id };
  reply.send(pagination === undefined ? { meta, data } : { meta, data, pagination });
}

function addPages(app: FastifyInstance): void {
  const document = openApiOf(ROUTES);
  const page = referencePage(document);
  app.get("/health", (_request, reply) => reply.send({ status: "alive" }));
  app.get("/openapi.json", (_request, reply) => reply.send(document));
  app.get("/docs", (_request, reply) => {
    reply
      .header("content-type", "text/html; charset=utf-8")
      // Nothing from elsewhere, no script, in no frame.
      .header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
      .header("x-content-type-options", "nosniff")
      .send(page);
  });
}

function readBody(request: FastifyRequest, body: Buffer, done: (error: Error | null, body?: unknown) => void): void {
  try {
    const encoding = request.headers["content-encoding"];
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
      throw new Problem("unsupported_media_type", "The body must be sent without a Content-Encoding.");
    }
    done(null, parseJsonBody(body));
  } catch (error) {
    done(error as Error);
  }
}

function notFound(request: FastifyRequest, reply: FastifyReply): Problem {
  const path = request.url.split("?", 1)[0]!;
  const isRoute = ROUTES.some(({ operation }) => path === PREFIX + operation);
  const isPage = ["/health", "/openapi.json", "/docs"].includes(path);
  if (!isRoute && !isPage) return new Problem("route_not_found", "There is no such route. GET /docs lists them.");
  const allowed = isRoute ? "POST" : "GET";
  reply.header("allow", allowed);
  return new Problem("method_not_allowed", `This route is asked by ${allowed}.`);
}
