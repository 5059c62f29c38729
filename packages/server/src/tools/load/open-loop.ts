/**
 * Load by a schedule: request i is due at i / rate, whether or not the ones before it came back.
 *
 * Invariant: every request that is due is told exactly once, as answered, failed or unsent. One that finds no connection free waits,
 * and its time runs from when it was due: a server that stands still is charged for all who would have come meanwhile, not only
 * for those that happened to be in flight (coordinated omission). How late this generator itself was is told beside: since when a
 * request could have been sent, because it was due and a connection was free.
 *
 * It keeps nothing of a request once that is told: memory is the connections'.
 */
import type { Clock, Timers } from "sluice";
import type { ReadAnswer } from "./answer-reader.ts";
import { LoadConnection, type Result } from "./load-connection.ts";

export interface LoadOptions {
  readonly url: URL;
  readonly key: string;
  /** Requests a second. */
  readonly rate: number;
  readonly durationMs: number;
  readonly connections: number;
  /** A request without an answer for so long is given up, and its connection. */
  readonly timeoutMs: number;
  /** What is due at the end may still be sent for so long (a second): a stall just before the end is not hidden by it. */
  readonly drainMs?: number;
  /** The body of a question before the load, on each connection: one that costs nothing. */
  readonly openingBody: string;
  /** The body of request i. */
  readonly bodyOf: (index: number) => string;
  readonly sink: LoadSink;
}

/** One request, as it was sent. Times are of the monotonic clock. */
export interface Sent {
  readonly index: number;
  readonly dueMs: number;
  readonly sentMs: number;
  /** How long it was not sent though it was due and a connection was free. */
  readonly generatorLateMs: number;
}

/** Who is told what came of each request. */
export interface LoadSink {
  answered(request: Sent, endedMs: number, answer: ReadAnswer): void;
  failed(request: Sent, endedMs: number, code: string): void;
}

export interface LoadEnd {
  readonly startMs: number;
  /** How long requests became due. */
  readonly loadMs: number;
  readonly due: number;
  /** Due, and never sent: no connection came free in time. */
  readonly unsent: number;
}

const PATH = "/v2/ratelimit.limit";
const DRAIN_MS = 1_000;

export class OpenLoop {
  readonly #options: LoadOptions;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #connections: readonly LoadConnection[];
  /** Those that are free; the one that is longest free is the first. */
  readonly #idle: LoadConnection[];
  /** Everything of a request but its length and body. */
  readonly #head: string;
  readonly #drainMs: number;
  #startMs = 0;
  #planned: number;
  #next = 0;
  #stopMs = Number.POSITIVE_INFINITY;
  /** Before it ran. */
  #isStopped = false;
  #ended: ((end: LoadEnd) => void) | null = null;

  constructor(options: LoadOptions, { clock, timers }: { readonly clock: Clock; readonly timers: Timers }) {
    this.#options = options;
    this.#clock = clock;
    this.#timers = timers;
    this.#connections = Array.from({ length: options.connections }, () => new LoadConnection(options.url));
    this.#idle = [...this.#connections];
    this.#drainMs = options.drainMs ?? DRAIN_MS;
    this.#planned = Math.round((options.rate * options.durationMs) / 1_000);
    this.#head = [
      `POST ${options.url.pathname.replace(/\/+$/, "")}${PATH} HTTP/1.1`,
      `host: ${options.url.host}`,
      `authorization: Bearer ${options.key}`,
      "content-type: application/json",
      "content-length: ",
    ].join("\r\n");
  }

  /**
   * Opens every connection, and asks once on each. Rejects if one cannot be; stopped meanwhile, it resolves at once.
   *
   * A connection that is open here may still wait for the server's process, which takes one a turn: under load the last of some
   * hundred would be taken seconds later, and what was sent on it would seem to have been answered as late.
   */
  async open(): Promise<void> {
    const late = this.#timers.set(() => this.#abandon("timeout"), this.#options.timeoutMs, true);
    try {
      await Promise.all(this.#connections.map((connection) => this.#openOne(connection)));
    } catch (error) {
      if (!this.#isStopped) throw error;
    } finally {
      this.#timers.clear(late);
    }
  }

  async #openOne(connection: LoadConnection): Promise<void> {
    await connection.open();
    await new Promise<void>((resolve, reject) => {
      connection.ask(this.#requestOf(this.#options.openingBody), (result) => {
        if (typeof result === "string") reject(new Error(result));
        else resolve();
      });
    });
  }

  run(): Promise<LoadEnd> {
    this.#startMs = this.#clock.monoMs();
    this.#stopMs = this.#startMs + (this.#isStopped ? 0 : this.#options.durationMs);
    if (this.#isStopped) this.#planned = 0;
    return new Promise((resolve) => {
      this.#ended = resolve;
      this.#turnOnce();
    });
  }

  /** Nothing more becomes due; what is in flight is awaited, what is being opened is not. */
  stop(): void {
    if (this.#ended === null) {
      this.#isStopped = true;
      this.#abandon("stopped");
      return;
    }
    const nowMs = this.#clock.monoMs();
    if (nowMs >= this.#stopMs) return;
    this.#planned = this.#dueBy(nowMs);
    this.#stopMs = nowMs;
  }

  close(): void {
    this.#abandon("closed");
  }

  #abandon(code: string): void {
    for (const connection of this.#connections) connection.abandon(code);
  }

  #requestOf(body: string): string {
    return `${this.#head}${Buffer.byteLength(body)}\r\n\r\n${body}`;
  }

  /** How many are due by then. */
  #dueBy(nowMs: number): number {
    return Math.min(this.#planned, Math.floor(((nowMs - this.#startMs) * this.#options.rate) / 1_000) + 1);
  }

  #turnOnce(): void {
    const nowMs = this.#clock.monoMs();
    for (const connection of this.#connections) {
      if (connection.isBusy && nowMs - connection.sentMs > this.#options.timeoutMs) connection.abandon("timeout");
    }
    this.#sendDue();
    const isOver = this.#next === this.#planned ? nowMs >= this.#stopMs : nowMs >= this.#stopMs + this.#drainMs;
    if (isOver && this.#idle.length === this.#connections.length) {
      this.#finish();
      return;
    }
    const waitMs = Math.ceil(this.#dueMs(this.#next) - nowMs);
    this.#timers.set(() => this.#turnOnce(), Math.max(1, Math.min(100, waitMs)), true);
  }

  #finish(): void {
    this.close();
    const [startMs, due] = [this.#startMs, this.#planned];
    this.#ended?.({ startMs, loadMs: this.#stopMs - startMs, due, unsent: due - this.#next });
  }

  #dueMs(index: number): number {
    return this.#startMs + (index * 1_000) / this.#options.rate;
  }

  #sendDue(): void {
    let nowMs = this.#clock.monoMs();
    while (this.#next < this.#dueBy(nowMs) && this.#idle.length > 0 && nowMs < this.#stopMs + this.#drainMs) {
      const couldMs = Math.max(this.#dueMs(this.#next), this.#idle[0]!.freeSinceMs);
      this.#send(this.#idle.pop()!, nowMs, Math.max(0, nowMs - couldMs));
      nowMs = this.#clock.monoMs();
    }
  }

  #send(connection: LoadConnection, sentMs: number, generatorLateMs: number): void {
    const index = this.#next++;
    const request: Sent = { index, dueMs: this.#dueMs(index), sentMs, generatorLateMs };
    connection.sentMs = sentMs;
    connection.ask(this.#requestOf(this.#options.bodyOf(index)), (result: Result) => {
      const endedMs = this.#clock.monoMs();
      connection.freeSinceMs = endedMs;
      this.#idle.push(connection);
      if (typeof result === "string") this.#options.sink.failed(request, endedMs, result);
      else this.#options.sink.answered(request, endedMs, result);
      this.#sendDue();
    });
  }
}
