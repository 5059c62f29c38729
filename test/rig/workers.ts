/** Real worker processes (worker.mjs), and their history as one. */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Checker, type HistoryLine, type WorldOptions } from "@sluice/sim";
import { end, removeFolder, start, temporaryFolder } from "./child-processes.ts";

export interface WorkerLoad {
  readonly identifiers: number;
  readonly perSecond: number;
  readonly limit: number;
  readonly durationMs: number;
}

/** The region of a worker, and the database where regions meet. */
export interface WorkerPlace {
  readonly region: string;
  readonly global: WorkerGlobal | null;
}

export interface WorkerGlobal {
  readonly kind: "mysql" | "postgres";
  readonly url: string;
  /** How often it publishes, and imports. */
  readonly roundMs: number;
}

/** Where a worker's origin is. */
export interface WorkerRedis {
  readonly url: string;
  readonly pid: number;
}

const ALONE: WorkerPlace = { region: "r0", global: null };

const PROGRAM = fileURLToPath(new URL("worker.mjs", import.meta.url));
export const FLUSH_MS = 50;

export class Worker {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  #errors = "";

  constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.#child = child;
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#errors += chunk.toString();
    });
    this.#ready = new Promise((resolve, reject) => {
      child.stdout?.once("data", () => resolve());
      child.once("exit", () => reject(new Error(`${name} ended: ${this.#errors}`)));
    });
    // Whoever waits hears of it; where nobody does, an end is no surprise.
    this.#ready.catch(() => {});
  }

  /** Resolves once it is connected and asks. */
  ready(): Promise<void> {
    return this.#ready;
  }

  kill(): Promise<void> {
    return end(this.#child, "SIGKILL");
  }

  /** SIGTERM; what it said and its exit code. */
  async stop(): Promise<{ readonly code: number | null; readonly said: string; readonly tookMs: number }> {
    const beganMs = performance.now();
    await end(this.#child, "SIGTERM");
    return { code: this.#child.exitCode, said: this.#errors, tookMs: performance.now() - beganMs };
  }
}

/** Real processes, of one region or several. */
export class Workers {
  readonly #folder = temporaryFolder();
  readonly #names: string[] = [];
  readonly #wallOffsetMs: number;
  readonly #running = new Set<Worker>();
  readonly #faults: HistoryLine[] = [];

  /** World time begins a little after the start of a window of this length. */
  constructor(durationMs: number) {
    const startMs = (Math.ceil(Date.now() / durationMs) + 1) * durationMs;
    this.#wallOffsetMs = startMs - Number(process.hrtime.bigint()) / 1e6;
  }

  nowMs(): number {
    return this.#wallOffsetMs + Number(process.hrtime.bigint()) / 1e6;
  }

  start(redis: WorkerRedis, load: WorkerLoad, closeTimeoutMs?: number, place?: WorkerPlace): Worker {
    const options = this.prepare(redis, load, closeTimeoutMs, place);
    const child = start(process.execPath, [PROGRAM, JSON.stringify(options)], { stdio: ["ignore", "pipe", "pipe"] });
    const worker = new Worker(options.name, child);
    this.#running.add(worker);
    return worker;
  }

  /** The options of one more worker, for whoever starts it. `server` is null for one whose parent has the origin. */
  prepare(server: WorkerRedis | null, load: WorkerLoad, closeTimeoutMs = 5_000, place: WorkerPlace = ALONE) {
    const name = `${place.region}/p${this.#names.length}`;
    this.#names.push(name);
    const [wallOffsetMs, history] = [this.#wallOffsetMs, this.#file(name)];
    const redis = server === null ? null : { url: server.url };
    const origin = { redis, storePid: server?.pid ?? 0, calmMs: 2 * DELAY_MS };
    return { ...place, ...origin, name, load, flushMs: FLUSH_MS, closeTimeoutMs, wallOffsetMs, history };
  }

  /** Whether no call to an origin was slow for want of a processor in a window or in the one before it. */
  isCalm(sequence: number, durationMs: number): boolean {
    const stalls = this.history().filter(({ event }) => event.kind === "fault" && event.fault === "origin-stalled");
    return !stalls.some(({ atMs }) => atMs >= (sequence - 1) * durationMs && atMs < (sequence + 1) * durationMs);
  }

  /** Notes that whoever holds the origin is frozen or gone, or is back: the checker must know what was wrong. */
  noteStall(isOn: boolean): void {
    const event = { kind: "fault", fault: "origin-stalled", target: "r0", isOn } as const;
    this.#faults.push({ atMs: this.nowMs(), process: "world", event });
  }

  /** What one of them, or all together, told; in the order of the machine's clock. A line that a kill cut off is no line. */
  history(name?: string): HistoryLine[] {
    const lines = (name === undefined ? this.#names : [name]).flatMap((one) =>
      readFileSync(this.#file(one), "utf8")
        .split("\n")
        .slice(0, -1)
        .map((text) => JSON.parse(text) as HistoryLine),
    );
    if (name === undefined) lines.push(...this.#faults);
    return lines.sort((a, b) => a.atMs - b.atMs);
  }

  async end(): Promise<void> {
    for (const worker of this.#running) await worker.kill();
    removeFolder(this.#folder);
  }

  #file(name: string): string {
    return `${this.#folder}/${name.replace("/", "-")}.jsonl`;
  }
}

/** What was accepted, by window and by writer. */
export function acceptedOf(lines: readonly HistoryLine[], untilMs = Number.POSITIVE_INFINITY): Map<string, number> {
  const totals = new Map<string, number>();
  for (const { atMs, event } of lines) {
    if (event.kind !== "decision" || !event.isCounted || atMs > untilMs) continue;
    const cell = `${event.key} ${event.sequence} ${event.writer}`;
    totals.set(cell, (totals.get(cell) ?? 0) + event.cost);
  }
  return totals;
}

/** Admitted ÷ limit of each window, from the first on. */
export function admittedRatios(lines: readonly HistoryLine[], first: number, windows: number, limit: number): number[] {
  const admitted = new Map<number, number>();
  for (const { event } of lines) {
    if (event.kind !== "decision" || !event.isCounted) continue;
    admitted.set(event.sequence, (admitted.get(event.sequence) ?? 0) + event.cost);
  }
  return Array.from({ length: windows }, (_, i) => (admitted.get(first + i) ?? 0) / limit);
}

/**
 * When the last flush that was answered began: what was accepted before is with the origin. World time, which is a worker's monotonic
 * clock: `atMs` of the line would not do, since a busy machine may stop the process between the answer and its line.
 */
export function flushedMs(lines: readonly HistoryLine[]): number {
  let lastMs = lines[0]?.atMs ?? 0;
  for (const { event } of lines) {
    if (event.kind === "raise" && event.isAnswered) lastMs = Math.max(lastMs, event.beganMs);
  }
  return lastMs;
}

export const sumOf = (totals: ReadonlyMap<string, number>): number => [...totals.values()].reduce((a, b) => a + b, 0);

/** What the checker is told of a world beside its load. */
export interface WorldShape {
  readonly regions: number;
  readonly roundMs: number;
}

/**
 * The simulator's checker over what really happened. What an origin answered to a raise is what it stored; what a database took
 * from a publish is the region's row.
 */
export function check(
  lines: readonly HistoryLine[],
  load: WorkerLoad,
  processes: number,
  world: WorldShape | null = null,
): Checker {
  const checker = new Checker();
  const observe = (line: HistoryLine) => checker.observe(line);
  const faults = new Set(lines.flatMap(({ event }) => (event.kind === "fault" ? [event.fault] : [])));
  const options = { ...setup(load, processes, world), faults: [...faults] };
  observe({ atMs: lines[0]?.atMs ?? 0, process: "world", event: { kind: "setup", options } });
  const rows = new Map<string, number>();
  for (const line of lines) {
    const { event, atMs } = line;
    const region = line.process.split("/")[0] ?? "";
    observe(line);
    if (event.kind === "raise" && event.isAnswered) {
      const { key, sequence, writer, component } = event;
      const expiresAtMs = (sequence + 2) * load.durationMs;
      const stored = { kind: "stored", region, key, sequence, writer, total: component, expiresAtMs } as const;
      observe({ atMs, process: `origin/${region}`, event: stored });
    } else if (event.kind === "publish") {
      const { key, sequence, count } = event;
      const row = `${region} ${sequence} ${key}`;
      if (count <= (rows.get(row) ?? 0)) continue;
      rows.set(row, count);
      const expiresAtMs = (sequence + 2) * load.durationMs;
      observe({ atMs, process: "global", event: { kind: "row", region, key, sequence, count, expiresAtMs } });
    }
  }
  return checker;
}

/** One-way delay that a busy machine may add to a message: the bound on the excess grows with it. */
const DELAY_MS = 50;

/** The same for a message to a database, which many write to at once. */
const GLOBAL_DELAY_MS = 150;

function setup(load: WorkerLoad, processes: number, world: WorldShape | null): WorldOptions {
  const { identifiers, durationMs, limit, perSecond } = load;
  const key = { workspace: "default", namespace: "api", durationMs, limit };
  return {
    regions: world?.regions ?? 1,
    processes,
    safetyMs: 0,
    keys: Array.from({ length: identifiers }, (_, i) => ({ ...key, identifier: `user_${i}` })),
    traffic: { shape: "steady", perSecond: perSecond * processes, costMax: 1, batches: 0, peeks: 0 },
    hasOrigin: true,
    hasGlobal: world !== null,
    globalMode: "counters",
    flushMs: FLUSH_MS,
    readTimeoutMs: 300,
    publishMs: world?.roundMs ?? 1_000,
    importMs: world?.roundMs ?? 1_000,
    floor: null,
    globalMinDuration: world === null ? 60_000 : durationMs,
    cellsMax: 1_048_576,
    whenFull: "allow",
    originDelayMs: DELAY_MS,
    globalDelayMs: world === null ? 0 : GLOBAL_DELAY_MS,
    timeoutMs: 1_000,
    faults: [],
    faultEveryMs: 0,
    skewMaxMs: 0,
    script: "none",
  };
}
