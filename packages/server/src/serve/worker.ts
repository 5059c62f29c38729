/**
 * One of several workers: a server whose parent tells it what to do. It shares the parent's port, and the parent's memory as
 * origin where there is no Redis.
 *
 * It ends with its parent, at once (node:cluster sees to that): without one nobody would replace it, stop it or know of it.
 */

import { Failure } from "../input/failure.ts";
import { createLog, type Log } from "../log/log.ts";
import { boundHeapGrowth } from "../system/heap-growth.ts";
import { type Server, startServer } from "./server.ts";
import { type FromParent, type FromWorker, marked, messageOf, type Topic, type Topics } from "./worker-messages.ts";

/** Resolves with the exit code. */
export async function runWorker(channel: NodeJS.Process): Promise<number> {
  boundHeapGrowth();
  const parent = new Parent(channel);
  try {
    return await work(parent);
  } finally {
    // An open channel keeps a process alive.
    if (channel.connected) channel.disconnect();
  }
}

async function work(parent: Parent): Promise<number> {
  parent.send({ kind: "born" });
  const assignment = await parent.settings;
  const log = createLog(assignment.settings.logLevel, { worker: assignment.number });
  let server: Server;
  try {
    server = await startServer(assignment.settings, log, {
      askAll: (topic, question) => parent.askAll(topic, question),
      allClosed: () => parent.allClosed(),
      listensEarlyOn: assignment.isReplacement ? parent.stop : null,
    });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    await parent.sendLast({ kind: "failed", message: error.message, hint: error.hint });
    return 1;
  }
  return obey(parent, server, log);
}

async function obey(parent: Parent, server: Server, log: Log): Promise<number> {
  parent.onAsk("readiness", async () => parent.send({ kind: "readiness", readiness: await server.readiness() }));
  parent.onAsk("reading", async () => {
    for (const reading of await server.readings()) parent.send({ kind: "reading", reading });
  });
  parent.onAsk("refresh", async () => {
    await server.refresh();
    parent.send({ kind: "refreshed" });
  });
  parent.onQuestion("topIdentifiers", async (question) => server.topIdentifiers(question));
  parent.onQuestion("live", (question) => server.live(question));
  parent.send({ kind: "listening", port: server.port });
  await parent.stop;
  const report = await server.stop();
  log.debug("worker.stopped", report);
  await parent.sendLast({ kind: "stopped", report });
  return 0;
}

class Parent {
  readonly #channel: NodeJS.Process;
  #onAllClosed = () => {};
  readonly #answers = new Map<FromParent["kind"], () => Promise<void>>();
  /** Questions that the parent has not answered yet, by number. */
  readonly #pending = new Map<number, (reading: Topics[Topic]["reading"]) => void>();
  #asks = 0;
  readonly #topics = new Map<
    Topic,
    (question: Topics[Topic]["question"]) => Promise<Topics[Topic]["reading"] | null>
  >();
  readonly settings: Promise<Extract<FromParent, { kind: "settings" }>>;
  /** Resolves when it is time to stop. */
  readonly stop: Promise<void>;

  constructor(channel: NodeJS.Process) {
    this.#channel = channel;
    let settle: (message: Extract<FromParent, { kind: "settings" }>) => void;
    this.settings = new Promise((resolve) => {
      settle = resolve;
    });
    this.stop = new Promise((resolve) => {
      channel.on("message", (raw) => {
        const message = messageOf<FromParent>(raw);
        if (message?.kind === "settings") settle(message);
        if (message?.kind === "stop") resolve();
        if (message?.kind === "all-closed") this.#onAllClosed();
        if (message?.kind === "ask") void this.#tell(message);
        if (message?.kind === "all-told") {
          this.#pending.get(message.ask)?.(message.reading);
          this.#pending.delete(message.ask);
        }
        if (message !== undefined) void this.#answers.get(message.kind)?.();
      });
      channel.on("SIGTERM", resolve);
      // Ctrl-C reaches every process of a terminal: the parent sees to it.
      channel.on("SIGINT", () => {});
    });
  }

  onAsk(kind: "readiness" | "reading" | "refresh", answer: () => Promise<void>): void {
    this.#answers.set(kind, answer);
  }

  onQuestion<T extends Topic>(
    topic: T,
    answer: (question: Topics[T]["question"]) => Promise<Topics[T]["reading"] | null>,
  ): void {
    this.#topics.set(topic, (question) => answer(question as Topics[T]["question"]));
  }

  /** The parent answers even if workers do not; and without a parent there is no worker. */
  askAll<T extends Topic>(topic: T, question: Topics[T]["question"]): Promise<Topics[T]["reading"]> {
    const ask = ++this.#asks;
    return new Promise((resolve) => {
      this.#pending.set(ask, (reading) => resolve(reading as Topics[T]["reading"]));
      this.send({ kind: "ask-all", topic, ask, question });
    });
  }

  async #tell({ topic, ask, question }: Extract<FromParent, { kind: "ask" }>): Promise<void> {
    const reading = await this.#topics
      .get(topic)?.(question)
      .catch(() => null);
    this.send({ kind: "told", ask, reading: reading ?? null });
  }

  /** Says that this worker takes no more connections; resolves when none of them does. */
  allClosed(): Promise<void> {
    return new Promise((resolve) => {
      this.#onAllClosed = resolve;
      this.send({ kind: "closed" });
    });
  }

  send(message: FromWorker): void {
    void this.sendLast(message);
  }

  /** Resolves when it is sent, or nobody is there to hear it. */
  sendLast(message: FromWorker): Promise<void> {
    return new Promise((resolve) => {
      if (this.#channel.send === undefined || !this.#channel.connected) resolve();
      else this.#channel.send(marked(message), undefined, undefined, () => resolve());
    });
  }
}
