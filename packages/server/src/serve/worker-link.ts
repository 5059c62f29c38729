/** A parent's side of one worker: what it told, and what is asked of it. */
import type { Worker } from "node:cluster";
import type { ServerSettings } from "../config/settings.ts";
import { Failure } from "../input/failure.ts";
import type { Reading } from "../metrics/reading.ts";
import type { Readiness } from "./readiness.ts";
import type { StopReport } from "./service.ts";
import { type FromParent, type FromWorker, marked, messageOf, type Topic, type Topics } from "./worker-messages.ts";

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
    let failure = new Failure(
      `worker ${number} exited before it was listening`,
      "see its last lines on standard error",
    );
    worker.on("message", (raw) => {
      const message = messageOf<FromWorker>(raw);
      if (message === undefined) return;
      if (message.kind === "born") this.#send({ kind: "settings", settings, number, isReplacement });
      if (message.kind === "stopped") report = message.report;
      if (message.kind === "failed") failure = new Failure(message.message, message.hint);
      for (const listener of this.#waiting) listener(message);
    });
    // A channel that breaks is followed by the exit.
    worker.on("error", () => {});
    this.ended = new Promise((resolve) => {
      worker.once("exit", () => {
        resolve(report);
        for (const listener of this.#waiting) listener(null);
      });
    });
    this.closed = this.#receive("closed", null).then(() => {});
    this.listening = this.#receive("listening", null).then((message) => {
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
    const answer = this.#receive("readiness", ANSWER_WITHIN_MS);
    this.#send({ kind: "readiness" });
    return (await answer)?.readiness ?? null;
  }

  /** Null if it does not answer. */
  async reading(): Promise<Reading | null> {
    const answer = this.#receive("reading", ANSWER_WITHIN_MS);
    this.#send({ kind: "reading" });
    return (await answer)?.reading ?? null;
  }

  /** Null if it does not answer. */
  async ask<T extends Topic>(topic: T, question: Topics[T]["question"]): Promise<Topics[T]["reading"] | null> {
    const ask = ++this.#asks;
    const answer = this.#receive("told", ANSWER_WITHIN_MS, (message) => message.ask === ask);
    this.#send({ kind: "ask", topic, ask, question });
    // A worker answers what it was asked: both are of one release.
    return ((await answer)?.reading ?? null) as Topics[T]["reading"] | null;
  }

  /** Calls back whenever the worker asks what all of them know of a topic, and sends it the answer. */
  onAskAll<T extends Topic>(
    topic: T,
    answer: (question: Topics[T]["question"]) => Promise<Topics[T]["reading"]>,
  ): void {
    this.#worker.on("message", (raw) => {
      const message = messageOf<FromWorker>(raw);
      if (message?.kind !== "ask-all" || message.topic !== topic) return;
      void answer(message.question as Topics[T]["question"]).then((reading) => {
        this.#send({ kind: "all-told", ask: message.ask, reading });
      });
    });
  }

  /** Resolves when it has read the admin store, or does not answer. */
  async refresh(): Promise<void> {
    const answer = this.#receive("refreshed", ANSWER_WITHIN_MS);
    this.#send({ kind: "refresh" });
    await answer;
  }

  /** Resolves with its report; a worker that has not stopped by the deadline is killed. */
  async stop(withinMs: number): Promise<StopReport> {
    this.#send({ kind: "stop" });
    const kill = setTimeout(() => this.kill(), withinMs);
    const report = await this.ended;
    clearTimeout(kill);
    return report;
  }

  /** Tells it that no worker takes connections any more. */
  sendAllClosed(): void {
    this.#send({ kind: "all-closed" });
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }

  #send(message: FromParent): void {
    if (!this.#worker.isConnected()) return;
    try {
      // Without a callback, a worker that dies meanwhile (EPIPE) would end its parent. Its exit is heard anyway.
      this.#worker.send(marked(message), () => {});
    } catch {
      // The channel closed between the question and the word: the same.
    }
  }

  /** The next message of that kind that is meant; null if the worker ends, or the time is over. */
  #receive<Kind extends FromWorker["kind"]>(
    kind: Kind,
    withinMs: number | null,
    isMeant: (message: Extract<FromWorker, { kind: Kind }>) => boolean = () => true,
  ): Promise<Extract<FromWorker, { kind: Kind }> | null> {
    return new Promise((resolve) => {
      const settle = (message: FromWorker | null) => {
        if (message !== null && message.kind !== kind) return;
        const received = message as Extract<FromWorker, { kind: Kind }> | null;
        if (received !== null && !isMeant(received)) return;
        clearTimeout(timer);
        this.#waiting.delete(settle);
        resolve(received);
      };
      const timer = withinMs === null ? undefined : setTimeout(() => settle(null), withinMs);
      this.#waiting.add(settle);
    });
  }
}
