/** The HTTP API in this process, on an embedded store in a temporary folder and a limiter of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Limiter, type LimiterOptions } from "sluice";
import { newId } from "../../packages/server/src/admin/admin-id.ts";
import type { AdminStore } from "../../packages/server/src/admin/admin-store.ts";
import { bootstrap } from "../../packages/server/src/admin/bootstrap.ts";
import { MemoryDirectory } from "../../packages/server/src/admin/memory-directory.ts";
import { openAdminStore } from "../../packages/server/src/admin/open-admin-store.ts";
import type { SqlAdminOptions } from "../../packages/server/src/admin/sql-admin-store.ts";
import { hashOf, newToken, startOf } from "../../packages/server/src/admin/token.ts";
import type { ApiSettings } from "../../packages/server/src/http/api-server.ts";
import { createApi } from "../../packages/server/src/http/api-server.ts";
import { RequestLog, type RequestLogSettings } from "../../packages/server/src/http/pipeline/request-log.ts";
import { LiveDesk } from "../../packages/server/src/live/live-desk.ts";
import { BUSY_MAX, type ServerState } from "../../packages/server/src/live/live-reading.ts";
import type { Log } from "../../packages/server/src/log/log.ts";
import { Tally } from "../../packages/server/src/metrics/tally.ts";
import { Drain } from "../../packages/server/src/serve/drain.ts";
import { listen } from "../../packages/server/src/serve/listening.ts";
import { SYSTEM, steadyMs } from "../../packages/server/src/system/system.ts";
import { TopIdentifierDesk } from "../../packages/server/src/top-identifiers/top-identifier-desk.ts";
import { UsageTally } from "../../packages/server/src/usage/usage-tally.ts";

export const ROOT = "a-root-key-for-tests";

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  /** The folder of its embedded store. */
  readonly dataDir: string;
  readonly store: AdminStore;
  readonly directory: MemoryDirectory;
  readonly limiter: Limiter;
  readonly usage: UsageTally;
  readonly live: LiveDesk;
  /** What was logged as a warning or an error. */
  readonly logged: readonly string[];
  /** The lines of requests, if they were asked for. */
  readonly requestLines: readonly RequestLine[];
  /** A call with the root key, or another one; without a dot, the operation is one of `ratelimit.`. */
  post(operation: string, body: unknown, token?: string): Promise<ApiAnswer>;
  /** A key with these permissions; answers its token. */
  createKey(permissions: readonly string[], more?: KeyOptions): Promise<string>;
  /** Connections that the server holds. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

export interface KeyOptions {
  readonly workspaceId?: string;
  readonly isDisabled?: boolean;
  readonly expiresAtMs?: number;
}

export type RequestLine = { readonly level: string } & Readonly<Record<string, unknown>>;

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server sends; the assertions say what it should be.
type Json = any;

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

const SETTINGS: ApiSettings = {
  hosts: ["127.0.0.1", "localhost"],
  hasUi: false,
  bodyMaxBytes: 1024 * 1024,
  connectionsMax: 1000,
  requestTimeoutMs: 30_000,
  quota: null,
  overrideCaps: { namespace: { overrides: 20_000, stars: 20_000 }, workspace: { overrides: 100_000, stars: 100_000 } },
  adminAgeMaxMs: null,
  tls: null,
};

/** What a server without any stores tells of itself. */
const QUIET_SERVER: ServerState = {
  ready: true,
  processes: 1,
  startedAt: 0,
  layers: { admin: { status: "ok" }, region: { status: "absent" }, global: { status: "absent" } },
  latencyBuckets: [],
  connections: 0,
  residentBytes: 0,
  cells: { live: 0, max: 0 },
  adminAgeMs: 0,
  origin: null,
  global: null,
};

async function firstEvent(answer: Response): Promise<Json> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n\n")) text += (await reader.read()).value ?? "";
  await reader.cancel();
  return { data: JSON.parse(/^data: (.*)$/m.exec(text)![1]!) };
}

export async function startApi(
  settings: Partial<ApiSettings> = {},
  limiterOptions: LimiterOptions = {},
  storeOptions: SqlAdminOptions = {},
  requestLog: Partial<RequestLogSettings> = {},
  hittersNamespacesMax = 64,
): Promise<ApiServer> {
  const dataDir = mkdtempSync(join(tmpdir(), "sluice-api-"));
  const store = await openAdminStore({ sqlUrl: null, dataDir }, SYSTEM, storeOptions);
  await bootstrap(store, ROOT, SYSTEM);
  const directory = new MemoryDirectory(store, SYSTEM);
  directory.start();
  await directory.refresh();
  const limiter = new Limiter(limiterOptions);
  const logged: string[] = [];
  const hear = (event: string, fields?: object) => logged.push(`${event} ${JSON.stringify(fields ?? {})}`);
  const log: Log = { debug: () => {}, info: () => {}, warn: hear, error: hear };
  const requestLines: RequestLine[] = [];
  const lineOf = (level: string) => (_event: string, fields?: object) => requestLines.push({ level, ...fields });
  const lines: Log = { debug: lineOf("debug"), info: lineOf("info"), warn: lineOf("warn"), error: lineOf("error") };
  const usage = new UsageTally();
  const live = new LiveDesk({
    directory,
    environment: SYSTEM,
    own: async ({ workspaceId, wantsServer }) => ({
      usage: usage.read(workspaceId, BUSY_MAX),
      server: wantsServer ? QUIET_SERVER : null,
    }),
  });
  const app = createApi({
    limiter,
    usage,
    live,
    server: { version: "0.0.0", region: "default", settings: [{ path: "port", shown: "0", source: "--port" }] },
    tally: new Tally(),
    topIdentifiers:
      hittersNamespacesMax === 0
        ? null
        : new TopIdentifierDesk({ namespacesMax: hittersNamespacesMax, nowMs: steadyMs }),
    directory,
    store,
    log,
    requestLog: RequestLog.of(lines, { requests: "off", identifiers: "hashed", identifierKey: "a key", ...requestLog }),
    tracer: null,
    wallMs: Date.now,
    settings: { ...SETTINGS, ...settings },
  });
  const drain = new Drain(app);
  const port = await listen(app, { host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    usage,
    live,
    dataDir,
    store,
    directory,
    limiter,
    logged,
    requestLines,
    post: async (operation, body, token = ROOT) => {
      const answer = await fetch(`${url}/v2/${operation.includes(".") ? operation : `ratelimit.${operation}`}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
      // Of a stream, the first event.
      if (answer.headers.get("content-type") === "text/event-stream") {
        return { status: answer.status, headers: answer.headers, body: await firstEvent(answer) };
      }
      return { status: answer.status, headers: answer.headers, body: await answer.json() };
    },
    createKey: async (permissions, { workspaceId = "default", isDisabled = false, expiresAtMs } = {}) => {
      const token = newToken(SYSTEM.random);
      const key = {
        id: newId("key", SYSTEM.random),
        workspaceId,
        name: "",
        hash: hashOf(token),
        start: startOf(token),
        permissions,
        isDisabled,
        createdAtMs: Date.now(),
        expiresAtMs: expiresAtMs ?? null,
      };
      await store.saveKey(key, "key.create", "test");
      await directory.refresh();
      return token;
    },
    connections: () => new Promise((resolve) => app.getConnections((_error, count) => resolve(count ?? 0))),
    close: async () => {
      live.close();
      await drain.run(1000);
      await limiter.close();
      await directory.close();
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
