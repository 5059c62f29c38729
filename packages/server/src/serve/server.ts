/**
 * One server process, put together and taken apart: a limiter with its stores, the admin store with its directory, the HTTP API.
 *
 * It listens even while its stores are unavailable. A stop answers what is under way, sends what is left to the stores, and reports what was lost.
 */
import type { Server as HttpServer } from "node:http";
import { Limiter } from "sluice";
import manifest from "../../package.json" with { type: "json" };
import type { ServerSettings } from "../config/settings.ts";
import { createApi } from "../http/api-server.ts";
import { RequestLog } from "../http/pipeline/request-log.ts";
import { LiveDesk } from "../live/live-desk.ts";
import { BUSY_MAX, type LiveQuestion, type LiveReading } from "../live/live-reading.ts";
import type { Log } from "../log/log.ts";
import { Gauge } from "../metrics/reading.ts";
import { Tally } from "../metrics/tally.ts";
import { SYSTEM, steadyMs } from "../system/system.ts";
import { TopIdentifierDesk } from "../top-identifiers/top-identifier-desk.ts";
import type { TopQuestion, TopReading } from "../top-identifiers/top-identifiers.ts";
import type { TraceSettings } from "../traces/open-tracer.ts";
import type { Tracer } from "../traces/tracer.ts";
import { UsageTally } from "../usage/usage-tally.ts";
import { UsageWriter, type UsageWriterParts } from "../usage/usage-writer.ts";
import { Admin } from "./admin.ts";
import { Drain } from "./drain.ts";
import { eventLog } from "./event-log.ts";
import { listen } from "./listening.ts";
import { readinessOf } from "./readiness.ts";
import { serverStateOf } from "./server-state.ts";
import type { Service, StopReport } from "./service.ts";
import { countersOf, originOf } from "./stores.ts";
import type { Topic, Topics } from "./worker-messages.ts";

export interface Server extends Service {
  /** Reads the admin store now; a store that is away is no failure. */
  refresh(): Promise<void>;
  /** What this process knows of who hits a namespace; null where nobody is ranked. */
  topIdentifiers(question: TopQuestion): TopReading | null;
  /** What this process knows of a workspace, and of itself. */
  live(question: LiveQuestion): Promise<LiveReading>;
}

/**
 * A database that does not answer must not hold a server that has nothing more to tell it but the last minute of the history of use. Both together
 * are less than what a parent leaves its workers beyond the deadline of a stop.
 */
const USAGE_CLOSE_MS = 500;
const ADMIN_CLOSE_MS = 500;
/** Nor a collector: the last spans are not worth more. */
const TRACES_CLOSE_MS = 1_000;

/** What one of several workers is started with. */
export interface WorkerPart {
  /** Asks all workers of a server. */
  readonly askAll: <T extends Topic>(topic: T, question: Topics[T]["question"]) => Promise<Topics[T]["reading"]>;
  /** Resolves when no worker takes connections any more; this one does not. */
  readonly allClosed: () => Promise<void>;
  /**
   * Set for a worker that replaces another one: it listens after it has read the keys and the other regions' counts, or has failed to,
   * or when this resolves. Its parent stays ready in the meantime, so nothing else would keep connections away from it.
   */
  readonly listensEarlyOn: Promise<void> | null;
}

export async function startServer(settings: ServerSettings, log: Log, worker?: WorkerPart): Promise<Server> {
  const { region, cellsMax, shutdownTimeoutMs, closeTimeoutMs, host, port } = settings;
  const { globalDurationMinMs, floor, ...convergence } = settings.convergence;
  const tally = new Tally();
  const admin = await Admin.open(settings, log, (entries) => tally.droppedAudit(entries));
  const [origin, global] = [await originOf(settings), await countersOf(settings)];
  const limiter = new Limiter({
    ...convergence,
    globalDurationMin: globalDurationMinMs,
    floor: floor ?? undefined,
    region,
    cellsMax,
    origin,
    global,
    closeTimeoutMs,
    onEvent: eventLog(log),
  });
  // Whether it succeeds or times out: a store that does not answer must not keep a server out of service for ever.
  let isJoining = true;
  const joined = limiter.ready().then(() => {
    isJoining = false;
  });
  const { store, directory } = admin;
  const { hittersNamespacesMax: namespacesMax } = settings;
  const topIdentifiers =
    namespacesMax === 0
      ? null
      : new TopIdentifierDesk({
          namespacesMax,
          nowMs: steadyMs,
          askAll: worker && ((question) => worker.askAll("topIdentifiers", question)),
        });
  const tracer = settings.traces === null ? null : await tracerOf(settings.traces, region, log, tally);
  const usage = new UsageTally();
  const usageWriter = usageWriterOf(settings, { tally: usage, store, log, onDrop: (rows) => tally.droppedUsage(rows) });
  const live = new LiveDesk({
    directory,
    environment: SYSTEM,
    own: async ({ workspaceId, wantsServer }) => ({
      usage: usage.read(workspaceId, BUSY_MAX),
      server: wantsServer ? serverStateOf(readiness(), await gauge.read()) : null,
    }),
    askAll: worker && ((question) => worker.askAll("live", question)),
  });
  const api = createApi({
    limiter,
    tally,
    topIdentifiers,
    usage,
    live,
    server: { version: manifest.version, region, settings: settings.shown },
    directory,
    store,
    log,
    requestLog: RequestLog.of(log, settings.requestLog),
    tracer,
    settings: settings.api,
    wallMs: SYSTEM.clock.wallMs,
  });
  const gauge = new Gauge({ region, limiter, directory, tally, connections: () => connectionsOf(api) });
  const drain = new Drain(api);
  const refresh = () => directory.refresh().catch(() => {});
  let isStopping = false;
  const readiness = () =>
    readinessOf(limiter.stats(), directory, {
      isJoining,
      isStopping,
      writeFailure: admin.writeFailure,
      adminAgeMaxMs: settings.api.adminAgeMaxMs,
    });
  const takeApart = async (cut: number): Promise<StopReport> => {
    gauge.close();
    const [{ lost }] = await Promise.all([limiter.close(), tracer?.close(TRACES_CLOSE_MS)]);
    if (usageWriter !== null) await within(USAGE_CLOSE_MS, usageWriter.close());
    await within(ADMIN_CLOSE_MS, admin.close());
    return { lost, cut, silent: 0 };
  };
  const stopOnce = async (): Promise<StopReport> => {
    isStopping = true;
    live.close();
    return takeApart(await drain.run(shutdownTimeoutMs - closeTimeoutMs, worker?.allClosed));
  };
  let stopping: Promise<StopReport> | undefined;
  try {
    directory.start();
    usageWriter?.start();
    if (worker !== undefined && worker.listensEarlyOn !== null) {
      await Promise.race([Promise.all([joined, refresh()]), worker.listensEarlyOn]);
    }
    return {
      port: await listen(api, { host, port }),
      refresh,
      topIdentifiers: (question) => topIdentifiers?.own(question) ?? null,
      live: (question) => live.own(question),
      ensureRootKey: async () => {
        const key = await admin.ensureRootKey();
        await refresh();
        return key;
      },
      readings: async () => [await gauge.read()],
      readiness: async () => readiness(),
      stop: () => {
        stopping ??= stopOnce();
        return stopping;
      },
    };
  } catch (error) {
    await takeApart(0);
    throw error;
  }
}

/** Null if no history is kept. */
function usageWriterOf(
  { usageKeepMs: keepMs }: ServerSettings,
  parts: Omit<UsageWriterParts, "environment" | "keepMs">,
): UsageWriter | null {
  return keepMs === null ? null : new UsageWriter({ ...parts, environment: SYSTEM, keepMs });
}

/** Loaded where it is needed. */
async function tracerOf(traces: TraceSettings, region: string, log: Log, tally: Tally): Promise<Tracer> {
  const { openTracer } = await import("../traces/open-tracer.ts");
  return openTracer(traces, region, log, (count) => tally.droppedSpans(count));
}

function connectionsOf(server: HttpServer): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count ?? 0)));
}

/** Resolves with the work, or when the time is over. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, over]);
  clearTimeout(timer);
}
