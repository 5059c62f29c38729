/**
 * Several workers behind one port, and their parent: it starts them, replaces those that die, and where there is no Redis holds the
 * counts that they share.
 *
 * The parent answers no request itself. A worker that dies loses what it had not replayed yet, and the others go on.
 */
import cluster from "node:cluster";
import { createServer } from "node:net";
import { type OriginHost, originHost } from "sluice";
import type { ServerSettings } from "../config/settings.ts";
import type { Failure } from "../input/failure.ts";
import { type LiveQuestion, type LiveReading, mergedLive, worstOf } from "../live/live-reading.ts";
import type { Log } from "../log/log.ts";
import type { Reading } from "../metrics/reading.ts";
import { mergedReading, type TopQuestion, type TopReading } from "../top-identifiers/top-identifiers.ts";
import { Admin } from "./admin.ts";
import { returnConnections } from "./handed-connections.ts";
import { listen } from "./listening.ts";
import type { Readiness } from "./readiness.ts";
import { type Service, type StopReport, sumOf } from "./service.ts";
import { WorkerLink } from "./worker-link.ts";

const REPLACE_AFTER_MS = 100;
const REPLACE_AFTER_MAX_MS = 10_000;
/** A worker that lived this long did not die of how it was started. */
const LIVED_MS = 10_000;
/** What a stop may take longer than it is told to. */
const STOP_MORE_MS = 2_000;

export async function startParent(settings: ServerSettings, log: Log): Promise<Service> {
  const parent = new ParentProcess(settings, await Admin.open(settings, log), log);
  try {
    await parent.start();
    return parent;
  } catch (error) {
    await parent.stop();
    throw error;
  }
}

class ParentProcess implements Service {
  readonly #settings: ServerSettings;
  readonly #log: Log;
  /** For the first root key; requests are the workers'. */
  readonly #admin: Admin;
  readonly #host: OriginHost;
  /** By number: those that run. */
  readonly #workers = new Map<number, WorkerLink>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopping: Promise<StopReport> | undefined;
  /** When a worker last ended. */
  #diedMs = Number.NEGATIVE_INFINITY;
  port: number;

  constructor(settings: ServerSettings, admin: Admin, log: Log) {
    this.#settings = settings;
    this.#log = log;
    this.#admin = admin;
    this.#host = originHost({ cellsMax: settings.cellsMax });
    this.port = settings.port;
    cluster.setupPrimary({ exec: process.argv[1]!, args: ["serve"] });
  }

  /** Any free port is chosen here: workers that ask for one themselves get another whenever all of them have died. */
  async start(): Promise<void> {
    if (this.port === 0) this.port = await freePort(this.#settings.host);
    await Promise.all(Array.from({ length: this.#settings.workers }, (_, i) => this.#fork(i + 1).listening));
  }

  async ensureRootKey(): Promise<string | null> {
    const key = await this.#admin.ensureRootKey();
    await Promise.all([...this.#workers.values()].map((worker) => worker.refresh()));
    return key;
  }

  async readiness(): Promise<Readiness> {
    // A worker that is starting, or that replaces another one and has not imported yet, gets no connections.
    return readinessOfAll(await Promise.all(this.#listening.map((worker) => worker.readiness())));
  }

  async readings(): Promise<readonly Reading[]> {
    const answers = await Promise.all([...this.#workers.values()].map((worker) => worker.reading()));
    const [first, ...others] = answers.filter((answer) => answer !== null);
    if (first === undefined || this.#settings.redisUrl !== null) return first === undefined ? [] : [first, ...others];
    return [{ ...first, parentStore: this.#host.stats() }, ...others];
  }

  stop(): Promise<StopReport> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<StopReport> {
    for (const timer of this.#timers) clearTimeout(timer);
    const withinMs = this.#settings.shutdownTimeoutMs + STOP_MORE_MS;
    const workers = [...this.#workers.values()];
    void Promise.all(workers.map(({ closed }) => closed)).then(() => {
      for (const worker of workers) worker.sendAllClosed();
    });
    const reports = await Promise.all(workers.map((worker) => worker.stop(withinMs)));
    await this.#admin.close();
    return sumOf(reports);
  }

  #fork(number: number, deaths = 0, isReplacement = false): WorkerLink {
    const worker = cluster.fork();
    if (this.#settings.redisUrl === null) this.#host.serve(worker);
    const link = new WorkerLink(worker, number, { ...this.#settings, port: this.port }, isReplacement);
    returnConnections(worker, () => [...this.#workers.values()].some((other) => other !== link && other.isListening));
    link.onAskAll("topIdentifiers", (question) => this.#topIdentifiers(question));
    link.onAskAll("live", (question) => this.#live(question));
    const bornMs = performance.now();
    this.#workers.set(number, link);
    link.listening.then(
      () => this.#log.info("worker.started", { worker: number, workerPid: link.pid }),
      (failure: Failure) => this.#log.warn("worker.not-started", { worker: number, reason: failure.message }),
    );
    void link.ended.then(() => {
      this.#workers.delete(number);
      this.#diedMs = performance.now();
      if (this.#stopping === undefined) this.#replace(number, performance.now() - bornMs < LIVED_MS ? deaths : 0);
    });
    return link;
  }

  /** Of those that are given connections. What one that has died had counted is gone. */
  async #topIdentifiers(question: TopQuestion): Promise<TopReading> {
    const reading = mergedReading(
      await Promise.all(this.#listening.map((worker) => worker.ask("topIdentifiers", question))),
    );
    return { ...reading, isWhole: reading.isWhole && performance.now() - this.#diedMs > reading.spanMs };
  }

  async #live(question: LiveQuestion): Promise<LiveReading> {
    return mergedLive(await Promise.all(this.#listening.map((worker) => worker.ask("live", question))));
  }

  /** Those that are given connections. */
  get #listening(): readonly WorkerLink[] {
    return [...this.#workers.values()].filter((worker) => worker.isListening);
  }

  #replace(number: number, deaths: number): void {
    const afterMs = Math.min(REPLACE_AFTER_MAX_MS, REPLACE_AFTER_MS * 2 ** deaths);
    this.#log.warn("worker.died", { worker: number, replacedAfterMs: afterMs });
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#fork(number, deaths + 1, true);
    }, afterMs);
    this.#timers.add(timer);
  }
}

async function freePort(host: string): Promise<number> {
  const server = createServer();
  const port = await listen(server, { host, port: 0 });
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** As ready as all of those that run, and one that does not answer is not; of every layer the worst that one of them sees. */
function readinessOfAll(all: readonly (Readiness | null)[]): Readiness {
  const answers = all.filter((answer) => answer !== null);
  const silent = all.length - answers.length;
  const worst = (layer: keyof Readiness["layers"]) => worstOf(answers.map(({ layers }) => layers[layer]));
  return {
    ready: answers.length > 0 && silent === 0 && answers.every(({ ready }) => ready),
    ...(silent === 0 ? {} : { reason: `${silent} of ${all.length} workers do not respond` }),
    layers: { admin: worst("admin"), region: worst("region"), global: worst("global") },
  };
}
