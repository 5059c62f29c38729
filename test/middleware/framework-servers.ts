/** Frameworks as the suites use them, each made of the framework's own module, so that one text serves several major versions. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forFetch from "sluice/fetch";
import * as forHono from "sluice/hono";
import * as forKoa from "sluice/koa";
import { caught, type Framework, type Options, type Started, show, startedAt } from "./framework.ts";

const HOST = "127.0.0.1";

function fail(): never {
  throw new Error("the handler fails");
}

const nodeHeader = (request: unknown, name: string) => (request as IncomingMessage).headers[name] as string | undefined;

type Decided = { rateLimit?: forExpress.RateLimitDecision };
type NodeMiddleware = forExpress.NodeMiddleware<forExpress.NodeRequest, forExpress.NodeResponse>;

const nodeHandler: forExpress.NodeHandler<forExpress.NodeRequest, forExpress.NodeResponse> = (
  _,
  response,
  _next,
  { policy },
) => {
  response.statusCode = 418;
  response.end(`handled ${policy}`);
};

const expressLimits = (options: readonly Options[]): NodeMiddleware[] =>
  options.map((one) =>
    forExpress.rateLimit(one as unknown as forExpress.NodeOptions<forExpress.NodeRequest, forExpress.NodeResponse>),
  );

async function listening(server: Server): Promise<Started> {
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return startedAt(server);
}

/** The part of Express that both major versions share. */
export type ExpressModule = () => {
  set(name: string, value: unknown): unknown;
  use(...handlers: unknown[]): unknown;
  get(
    path: string,
    handler: (request: Decided, response: { json(body: unknown): void; end(body: string): void }) => unknown,
  ): unknown;
  listen(port: number, host: string, done: () => void): Server;
};

export function expressFramework(name: string, express: ExpressModule): Framework {
  return {
    name,
    entry: forExpress,
    header: nodeHeader,
    handler: nodeHandler,
    hasAddress: true,
    hasProxySetting: true,
    async start({ options, isChecked = false, trustsLoopback = false }) {
      const app = express();
      if (trustsLoopback) app.set("trust proxy", "loopback");
      const limits = expressLimits(options);
      if (!isChecked) for (const limit of limits) app.use(limit);
      app.get("/", async (request, response) =>
        response.json(
          isChecked ? await limits[0]!.check(request as unknown as forExpress.NodeRequest) : request.rateLimit,
        ),
      );
      app.get("/own", (_request, response) => response.end("own"));
      app.get("/fails", fail);
      app.use((error: unknown, _request: unknown, response: forExpress.NodeResponse, _next: unknown) => {
        response.statusCode = 500;
        response.end(caught(error));
      });
      const server = await new Promise<Server>((resolve) => {
        const started = app.listen(0, HOST, () => resolve(started));
      });
      return startedAt(server);
    },
  };
}

export const nodeFramework: Framework = {
  name: "node:http",
  entry: forExpress,
  header: nodeHeader,
  handler: nodeHandler,
  hasAddress: true,
  hasProxySetting: false,
  start({ options, isChecked = false }) {
    const limits = expressLimits(options);
    const server = createServer((request, response) => {
      const failed = (error: unknown) => {
        response.statusCode = 500;
        response.end(caught(error));
      };
      const answer = async () => {
        if (request.url === "/fails") fail();
        if (request.url === "/own") return response.end("own");
        return response.end(show(isChecked ? await limits[0]!.check(request) : (request as Decided).rateLimit));
      };
      const through = (at: number): void => {
        const limit = isChecked ? undefined : limits[at];
        if (limit === undefined) answer().catch(failed);
        else limit(request, response, (error) => (error === undefined ? through(at + 1) : failed(error)));
      };
      through(0);
    });
    return listening(server);
  },
};

/** The part of Koa that both major versions share. */
export interface KoaModule {
  new (options?: {
    proxy?: boolean;
  }): {
    use(middleware: unknown): unknown;
    on(name: "error", listener: () => void): unknown;
    callback(): (request: IncomingMessage, response: ServerResponse) => unknown;
  };
}

export function koaFramework(name: string, Koa: KoaModule): Framework {
  return {
    name,
    entry: forKoa,
    header: nodeHeader,
    handler: ((ctx, { policy }) => {
      ctx.status = 418;
      ctx.body = `handled ${policy}`;
    }) as forKoa.KoaHandler<forKoa.KoaContext>,
    hasAddress: true,
    hasProxySetting: true,
    start({ options, isChecked = false, trustsLoopback = false }) {
      const app = new Koa({ proxy: trustsLoopback });
      const limits = options.map((one) => forKoa.rateLimit(one as unknown as forKoa.KoaOptions<forKoa.KoaContext>));
      app.use(async (ctx: forKoa.KoaContext, next: () => Promise<unknown>) => {
        try {
          await next();
        } catch (error) {
          ctx.status = 500;
          ctx.body = caught(error);
        }
      });
      if (!isChecked) for (const limit of limits) app.use(limit);
      app.use(async (ctx: forKoa.KoaContext & { path: string }) => {
        if (ctx.path === "/fails") fail();
        ctx.body =
          ctx.path === "/own"
            ? "own"
            : show(isChecked ? await limits[0]!.check(ctx) : (ctx.state as Decided).rateLimit);
      });
      return listening(createServer(app.callback()));
    },
  };
}

export type FastifyModule = (options: object) => {
  register(plugin: unknown, options: unknown): PromiseLike<unknown>;
  setErrorHandler(
    handler: (
      error: unknown,
      request: unknown,
      reply: { code(status: number): { send(body: string): unknown } },
    ) => unknown,
  ): unknown;
  get(path: string, handler: (request: Decided & { server: unknown }, reply: unknown) => unknown): unknown;
  listen(options: object): Promise<string>;
  close(): PromiseLike<unknown>;
  server: Server;
};

export function fastifyFramework(name: string, fastify: FastifyModule): Framework {
  return {
    name,
    entry: forFastify,
    header: nodeHeader,
    handler: ((_request, reply, { policy }) => {
      reply.code(418);
      reply.send(`handled ${policy}`);
    }) as forFastify.FastifyHandler<forFastify.FastifyRequest>,
    hasAddress: true,
    hasProxySetting: true,
    async start({ options, isChecked = false, trustsLoopback = false }) {
      const app = fastify({ trustProxy: trustsLoopback ? "loopback" : false, forceCloseConnections: true });
      app.setErrorHandler((error, _request, reply) => reply.code(500).send(caught(error)));
      if (isChecked) {
        // The decorator of a plugin whose own routes are in another scope.
        const limits = options.map((one) => ({ ...one, skip: undefined }));
        let check: (request: unknown) => unknown = () => undefined;
        await app.register(async (scope: { register: typeof app.register; rateLimit: typeof check }) => {
          await scope.register(forFastify.rateLimit, limits[0]);
          check = scope.rateLimit;
        }, {});
        app.get("/", (request) => check(request));
      } else {
        for (const one of options) await app.register(forFastify.default, one);
        app.get("/", async (request) => request.rateLimit);
      }
      app.get("/own", async () => "own");
      app.get("/fails", fail);
      const url = await app.listen({ port: 0, host: HOST });
      return { url, close: async () => void (await app.close()) };
    },
  };
}

export interface HonoModule {
  new (): {
    use(middleware: unknown): unknown;
    onError(handler: (error: unknown, c: { text(body: string, status: number): Response }) => Response): unknown;
    get(path: string, handler: (c: forHono.HonoContext & { json(body: unknown): Response }) => unknown): unknown;
    fetch: (request: Request) => Response | Promise<Response>;
  };
}
type Serve = (options: { fetch: unknown; port: number; hostname: string }, done: () => void) => unknown;

export function honoFramework(name: string, Hono: HonoModule, serve: Serve): Framework {
  return {
    name,
    entry: forHono,
    header: (c, field) => (c as forHono.HonoContext).req.header(field),
    handler: (() => new Response("handled default", { status: 418 })) as forHono.HonoHandler<forHono.HonoContext>,
    hasAddress: true,
    hasProxySetting: false,
    async start({ options, isChecked = false }) {
      const app = new Hono();
      const limits = options.map((one) =>
        forHono.rateLimit(one as unknown as forHono.HonoOptions<forHono.HonoContext>),
      );
      if (!isChecked) for (const limit of limits) app.use(limit);
      app.onError((error, c) => c.text(caught(error), 500));
      app.get("/", async (c) => c.json(isChecked ? await limits[0]!.check(c) : c.get("rateLimit")));
      app.get("/own", () => new Response("own"));
      app.get("/fails", fail);
      return served(serve, app.fetch);
    },
  };
}

/** `sluice/fetch` behind any server that takes a `Request`. */
export function fetchFramework(name: string, serve: Serve): Framework {
  return {
    name,
    entry: forFetch,
    header: (request, field) => (request as Request).headers.get(field) ?? undefined,
    handler: (() => new Response("handled default", { status: 418 })) as forFetch.FetchHandler<Request>,
    hasAddress: false,
    hasProxySetting: false,
    async start({ options, isChecked = false }) {
      const limits = options.map((one) => forFetch.rateLimit(one as unknown as forFetch.FetchOptions<Request>));
      const answer = async (request: Request): Promise<Response> => {
        const { pathname } = new URL(request.url);
        if (pathname === "/fails") fail();
        if (pathname === "/own") return new Response("own");
        return Response.json(isChecked ? await limits[0]!.check(request) : limits[0]!.decisionOf(request));
      };
      const wrapped = isChecked
        ? answer
        : limits.reduceRight<(request: Request) => Promise<Response>>((inner, limit) => limit.wrap(inner), answer);
      return served(serve, async (request: Request) => {
        try {
          return await wrapped(request);
        } catch (error) {
          return new Response(caught(error), { status: 500 });
        }
      });
    },
  };
}

async function served(serve: Serve, fetch: unknown): Promise<Started> {
  const server = await new Promise<Server>((resolve) => {
    const started = serve({ fetch, port: 0, hostname: HOST }, () => resolve(started as Server));
  });
  return startedAt(server);
}
