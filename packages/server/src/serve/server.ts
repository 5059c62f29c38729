/**
 * One server process, put together and taken apart: a limiter with its stores, the admin store with its directory, the HTTP API.
 *
 * It listens even while its stores are unavailable. A stop answers what is under way, sends what is left to the stores, and reports what was lost.
 */
import type { Server as HttpServer } from "node:http";
import { Limiter } from "sluice";
import type { ServerSettings } from "../config/settings.ts";
import { createApi } from "../http/api-server.ts";
import { RequestLog } from "../http/pipeline/request-log.ts";
import type { Log } from "../log/log.ts";
import { Gauge } from "../metrics/reading.ts";
import { Tally } from "../metrics/tally.ts";
import { SYSTEM, steadyMs } from "../system/system.ts";
import { TopIdentifierDesk, type TopIdentifierDeskOptions } from "../top-identifiers/top-identifier-desk.ts";
import type { TopQuestion, TopReading } from "../top-identifiers/top-identifiers.ts";
import type { TraceSettings } from "../traces/open-tracer.ts";
import type { Tracer } from "../traces/tracer.ts";
import { Admin } from "./admin.ts";
import { Drain } from "./drain.ts";
import { eventLog } from "./event-log.ts";
import { listen } from "./listening.ts";
import { readinessOf } from "./readiness.ts";
import type { Service, StopReport } from "./service.ts";
import { countersOf, originOf } from "./stores.ts";

export interface Server extends Service {
  /** Reads the admin store now; a store that is away is no failure. */
  refresh(): Promise<void>;
  /** What this process knows of who hits a namespace; null where nobody is ranked. */
  topIdentifiers(question: TopQuestion): TopReading | null;
}

/** A database that does not answer must not hold a server that has nothing more to tell it. */
const ADMIN_CLOSE_MS = 1_000;
/** Nor a collector: the last spans are not worth more. */
const TRACES_CLOSE_MS = 1_000;

/** What one of several workers is started with. */
export interface WorkerPart {
  /** How to ask all workers of a server. */
  readonly askAll: TopIdentifierDeskOptions["askAll"];
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
    namespacesMax === 0 ? null : new TopIdentifierDesk({ namespacesMax, nowMs: steadyMs, askAll: worker?.askAll });
  const tracer = settings.traces === null ? null : await tracerOf(settings.traces, region, log, tally);
  const api = createApi({
    limiter,
    tally,
    topIdentifiers,
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
  const takeApart = async (cut: number): Promise<StopReport> => {
    gauge.close();
    const [{ lost }] = await Promise.all([limiter.close(), tracer?.close(TRACES_CLOSE_MS)]);
    await within(ADMIN_CLOSE_MS, admin.close());
    return { lost, cut, silent: 0 };
  };
  const stopOnce = async (): Promise<StopReport> => {
    isStopping = true;
    return takeApart(await drain.run(shutdownTimeoutMs - closeTimeoutMs, worker?.allClosed));
  };
  let stopping: Promise<StopReport> | undefined;
  try {
    directory.start();
    if (worker !== undefined && worker.listensEarlyOn !== null) {
      await Promise.race([Promise.all([joined, refresh()]), worker.listensEarlyOn]);
    }
    return {
      port: await listen(api, { host, port }),
      refresh,
      topIdentifiers: (question) => topIdentifiers?.own(question) ?? null,
      ensureRootKey: async () => {
        const key = await admin.ensureRootKey();
        await refresh();
        return key;
      },
      readings: async () => [await gauge.read()],
      readiness: async () =>
        readinessOf(limiter.stats(), directory, {
          isJoining,
          isStopping,
          writeFailure: admin.writeFailure,
          adminAgeMaxMs: settings.api.adminAgeMaxMs,
        }),
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
