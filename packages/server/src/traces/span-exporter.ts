/**
 * Brings spans to a collector, OTLP over HTTP, behind the requests' back.
 *
 * Bounded: a queue of spans, beyond which they are dropped and counted, and one call at a time. A collector that is away is tried again, ever
 * more rarely, with what is in the queue; one that refuses a batch does not get it again. Nothing here ever rejects or throws, and the
 * log has one line when it begins to fail, one when it works again, and at most one per minute while the queue is full.
 */
import { Agent as HttpAgent, request as requestOf } from "node:http";
import { Agent as TlsAgent, request as tlsRequestOf } from "node:https";
import type { Timers } from "sluice";
import type { Log } from "../log/log.ts";
import { otlpJson, type Scope } from "./otlp-json.ts";
import type { Attributes, Span } from "./span.ts";

export interface ExporterOptions {
  /** Of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  /** What the collector wants to see, such as a key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Attributes;
  readonly scope: Scope;
  readonly log: Log;
  readonly timers: Timers;
  readonly monoMs: () => number;
  /** Told of spans that no collector will get. */
  readonly onDropped: (count: number) => void;
}

/** About a megabyte. */
const QUEUE_MAX = 2_048;
/** To write it takes a millisecond or two. */
const BATCH_MAX = 256;
const EVERY_MS = 1_000;
const RETRY_MAX_MS = 30_000;
const TIMEOUT_MS = 5_000;
/** Between two lines about a full queue. */
const QUIET_MS = 60_000;
/** By the protocol: these may be sent again, others must not. */
const PASSING: readonly number[] = [429, 502, 503, 504];

/** What came of a batch: taken, or why not, and whether it may be sent again. */
type Outcome =
  | { readonly isTaken: true }
  | { readonly isTaken: false; readonly why: string; readonly mayRetry: boolean };

export class SpanExporter {
  readonly #options: ExporterOptions;
  readonly #url: URL;
  readonly #agent: HttpAgent | TlsAgent;
  #queue: Span[] = [];
  /** Since it began to fail. */
  #dropped = 0;
  /** Until then, no line about a full queue. */
  #quietUntilMs = 0;
  /** In a row. */
  #failures = 0;
  #handle: unknown = undefined;
  #isArmed = false;
  #isClosed = false;
  /** The time that `close` was given is over. */
  #isLate = false;
  #sending: Promise<void> | null = null;

  constructor(options: ExporterOptions) {
    this.#options = options;
    const { pathname, origin } = new URL(options.endpoint);
    this.#url = new URL(`${pathname.replace(/\/+$/, "")}/v1/traces`, origin);
    const keep = { keepAlive: true, maxSockets: 1 };
    this.#agent = this.#url.protocol === "https:" ? new TlsAgent(keep) : new HttpAgent(keep);
  }

  add(span: Span): void {
    if (this.#isClosed) return;
    if (this.#queue.length >= QUEUE_MAX) {
      this.#drop(1);
      this.#sayFull();
      return;
    }
    this.#queue.push(span);
    this.#arm();
  }

  /** Sends what is there, a batch after the other; ends with the first that fails. */
  async flushOnce(): Promise<void> {
    while (this.#queue.length > 0 && !this.#isLate) {
      const batch = this.#queue.slice(0, BATCH_MAX);
      const outcome = await this.#send(batch);
      if (!outcome.isTaken) {
        if (!outcome.mayRetry) this.#drop(this.#take(batch.length));
        this.#failed(outcome.why);
        return;
      }
      this.#take(batch.length);
      this.#worked();
    }
  }

  /** Sends what is left, once, within this time. What comes later is dropped. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    const { timers } = this.#options;
    if (this.#isArmed) timers.clear(this.#handle);
    const end = () => {
      this.#isLate = true;
      // Whatever is under way ends with its socket.
      this.#agent.destroy();
    };
    const deadline = timers.set(end, withinMs, true);
    await this.#sending;
    await this.flushOnce();
    timers.clear(deadline);
    this.#agent.destroy();
    this.#queue = [];
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#options.onDropped(count);
  }

  /** A queue can be full all the time though the collector works: more spans than it takes. */
  #sayFull(): void {
    const nowMs = this.#options.monoMs();
    if (nowMs < this.#quietUntilMs) return;
    this.#quietUntilMs = nowMs + QUIET_MS;
    this.#options.log.warn("traces.dropping", { queued: this.#queue.length });
  }

  #take(count: number): number {
    this.#queue = this.#queue.slice(count);
    return count;
  }

  #arm(): void {
    if (this.#isArmed || this.#isClosed) return;
    this.#isArmed = true;
    const delayMs = Math.min(RETRY_MAX_MS, EVERY_MS * 2 ** Math.min(this.#failures, 10));
    this.#handle = this.#options.timers.set(() => {
      this.#sending = this.flushOnce().then(() => {
        this.#sending = null;
        this.#isArmed = false;
        if (this.#queue.length > 0) this.#arm();
      });
    }, delayMs);
  }

  #failed(why: string): void {
    this.#failures++;
    if (this.#failures > 1) return;
    this.#options.log.warn("traces.away", { reason: why, queued: this.#queue.length });
  }

  #worked(): void {
    if (this.#failures > 0) this.#options.log.info("traces.back", { dropped: this.#dropped });
    this.#failures = 0;
    this.#dropped = 0;
  }

  /** Never rejects. Of a failure its code alone is told: its words may hold the address, and that a password. */
  #send(batch: readonly Span[]): Promise<Outcome> {
    const { headers, resource, scope } = this.#options;
    const body = otlpJson(batch, resource, scope);
    const ask = this.#url.protocol === "https:" ? tlsRequestOf : requestOf;
    return new Promise((resolve) => {
      const request = ask(this.#url, {
        method: "POST",
        agent: this.#agent,
        headers: { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      request.on("response", (response) => {
        response.resume();
        const { statusCode = 0 } = response;
        const isTaken = statusCode >= 200 && statusCode < 300;
        response.on("close", () => {
          if (isTaken) resolve({ isTaken });
          else resolve({ isTaken, why: `status ${statusCode}`, mayRetry: PASSING.includes(statusCode) });
        });
      });
      request.on("error", (error: NodeJS.ErrnoException) => {
        resolve({ isTaken: false, why: error.code ?? error.name, mayRetry: true });
      });
      request.end(body);
    });
  }
}
