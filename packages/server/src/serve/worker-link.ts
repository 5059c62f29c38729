/** A parent's side of one worker: what it told, and what is asked of it. */
import type { Worker } from "node:cluster";
import type { ServerSettings } from "../config/settings.ts";
import type { HittersQuestion, HittersReading } from "../hitters/hitters.ts";
import { Failure } from "../input/failure.ts";
import type { Reading } from "../metrics/reading.ts";
import type { Readiness } from "./readiness.ts";
import type { StopReport } from "./service.ts";
import { type FromParent, type FromWorker, marked, messageOf } from "./worker-messages.ts";

const ANSWER_WITHIN_MS = 1_000;

export class WorkerLink {
  readonly #worker: Worker;
  readonly #waiting = new Set<(message: FromWorker | null) => void>();
  #isListening = false;
  #asks = 0;
  /** The port it listens on; rejects if it cannot. */
  readonly listening: Promise<number>;
  /** Its report when it has ended, however that was. */
  readonly ended: Promise<StopReport>;
  /** Resolves when it takes no more connections. */
  readonly closed: Promise<void>;

  constructor(worker: Worker, number: number, settings: ServerSettings, isReplacement: boolean) {
    this.#worker = worker;
    let report: StopReport = { lost: 0, cut: 0, silent: 1 };
    let failure = new Failure(`worker ${number} ended before it listened`, "its last lines on standard error say why");
    worker.on("message", (raw) => {
      const message = messageOf<FromWorker>(raw);
      if (message === undefined) return;
      if (message.kind === "born") this.#tell({ kind: "settings", settings, number, isReplacement });
      if (message.kind === "stopped") report = message.report;
      if (message.kind === "failed") failure = new Failure(message.message, message.hint);
      for (const hear of this.#waiting) hear(message);
    });
    // A channel that breaks is followed by the exit.
    worker.on("error", () => {});
    this.ended = new Promise((resolve) => {
      worker.once("exit", () => {
        resolve(report);
        for (const hear of this.#waiting) hear(null);
      });
    });
    this.closed = this.#hear("closed", null).then(() => {});
    this.listening = this.#hear("listening", null).then((message) => {
      if (message === null) throw failure;
      this.#isListening = true;
      return message.port;
    });
  }

  /** Whether connections are given to it. */
  get isListening(): boolean {
    return this.#isListening;
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** Null if it does not answer. */
  async readiness(): Promise<Readiness | null> {
    const answer = this.#hear("readiness", ANSWER_WITHIN_MS);
    this.#tell({ kind: "readiness" });
    return (await answer)?.readiness ?? null;
  }

  /** Null if it does not answer. */
  async reading(): Promise<Reading | null> {
    const answer = this.#hear("reading", ANSWER_WITHIN_MS);
    this.#tell({ kind: "reading" });
    return (await answer)?.reading ?? null;
  }

  /** Null if it does not answer. */
  async hitters(question: HittersQuestion): Promise<HittersReading | null> {
    const ask = ++this.#asks;
    const answer = this.#hear("hitters", ANSWER_WITHIN_MS, (message) => message.ask === ask);
    this.#tell({ kind: "hitters", ask, question });
    return (await answer)?.reading ?? null;
  }

  /** Calls back whenever the worker asks what all of them know, and tells it the answer. */
  onAskHitters(answer: (question: HittersQuestion) => Promise<HittersReading>): void {
    this.#worker.on("message", (raw) => {
      const message = messageOf<FromWorker>(raw);
      if (message?.kind !== "ask-hitters") return;
      void answer(message.question).then((reading) => {
        this.#tell({ kind: "all-hitters", ask: message.ask, reading });
      });
    });
  }

  /** Resolves when it has read the admin store, or does not answer. */
  async refresh(): Promise<void> {
    const answer = this.#hear("refreshed", ANSWER_WITHIN_MS);
    this.#tell({ kind: "refresh" });
    await answer;
  }

  /** Resolves with its report; a worker that has not stopped by the deadline is killed. */
  async stop(withinMs: number): Promise<StopReport> {
    this.#tell({ kind: "stop" });
    const kill = setTimeout(() => this.kill(), withinMs);
    const report = await this.ended;
    clearTimeout(kill);
    return report;
  }

  /** Tells it that no worker takes connections any more. */
  tellAllClosed(): void {
    this.#tell({ kind: "all-closed" });
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }

  #tell(message: FromParent): void {
    if (!this.#worker.isConnected()) return;
    try {
      // Without a callback, a worker that dies meanwhile (EPIPE) would end its parent. Its exit is heard anyway.
      this.#worker.send(marked(message), () => {});
    } catch {
      // The channel closed between the question and the word: the same.
    }
  }

  /** The next message of that kind that is meant; null if the worker ends, or the time is over. */
  #hear<Kind extends FromWorker["kind"]>(
    kind: Kind,
    withinMs: number | null,
    isMeant: (message: Extract<FromWorker, { kind: Kind }>) => boolean = () => true,
  ): Promise<Extract<FromWorker, { kind: Kind }> | null> {
    return new Promise((resolve) => {
      const settle = (message: FromWorker | null) => {
        if (message !== null && message.kind !== kind) return;
        const heard = message as Extract<FromWorker, { kind: Kind }> | null;
        if (heard !== null && !isMeant(heard)) return;
        clearTimeout(timer);
        this.#waiting.delete(settle);
        resolve(heard);
      };
      const timer = withinMs === null ? undefined : setTimeout(() => settle(null), withinMs);
      this.#waiting.add(settle);
    });
  }
}
