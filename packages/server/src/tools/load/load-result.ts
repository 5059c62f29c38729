/** What came of a load: outcomes counted, times in histograms. Fixed memory, however long it runs. */
import type { ReadAnswer } from "./answer-reader.ts";
import { Latencies, type Percentiles } from "./latencies.ts";
import type { LoadEnd, LoadSink, Sent } from "./open-loop.ts";

/** A timer of Node wakes up to a millisecond late: what is later than twice that is told. */
const LATE_MS = 2;
/** Names of errors come from the system: some ten. What would be more is told together. */
const CODES_MAX = 50;

export interface LoadResult {
  /** How many became due, were sent, got an answer, never were sent. */
  readonly due: number;
  readonly sent: number;
  readonly answered: number;
  readonly unsent: number;
  readonly elapsedMs: number;
  readonly answeredPerSecond: number;
  readonly allowed: number;
  readonly denied: number;
  /** Answers that were no decision, by status. */
  readonly httpErrors: Readonly<Record<string, number>>;
  /** Requests without an answer, by what went wrong. */
  readonly connectionErrors: Readonly<Record<string, number>>;
  /** Of requests that were answered, whatever the status. */
  readonly latencyMs: {
    /** From when it was due: what a caller who comes at this rate waits. */
    readonly corrected: Percentiles;
    /** From when it was sent: what the server took. It leaves out those who could not be sent meanwhile. */
    readonly service: Percentiles;
  };
  /** How late the generator itself was, and how many requests it sent later than `thresholdMs`. */
  readonly generator: { readonly late: number; readonly thresholdMs: number; readonly lateMs: Percentiles };
}

export class LoadTally implements LoadSink {
  readonly #corrected = new Latencies();
  readonly #service = new Latencies();
  readonly #generator = new Latencies();
  readonly #httpErrors = new Map<string, number>();
  readonly #connectionErrors = new Map<string, number>();
  #allowed = 0;
  #denied = 0;
  #late = 0;
  #lastMs = 0;

  answered(request: Sent, endedMs: number, { status, body }: ReadAnswer): void {
    this.#sent(request, endedMs);
    this.#corrected.record(endedMs - request.dueMs);
    this.#service.record(endedMs - request.sentMs);
    const success = status === 200 ? successOf(body) : undefined;
    if (success === undefined) count(this.#httpErrors, String(status));
    else if (success) this.#allowed++;
    else this.#denied++;
  }

  failed(request: Sent, endedMs: number, code: string): void {
    this.#sent(request, endedMs);
    count(this.#connectionErrors, code);
  }

  get answers(): number {
    return this.#corrected.count;
  }

  get errors(): number {
    return sumOf(this.#httpErrors) + sumOf(this.#connectionErrors);
  }

  get corrected(): Percentiles {
    return this.#corrected.read();
  }

  result({ startMs, loadMs, due, unsent }: LoadEnd): LoadResult {
    const elapsedMs = Math.max(1, loadMs, this.#lastMs - startMs);
    return {
      due,
      sent: due - unsent,
      answered: this.answers,
      unsent,
      elapsedMs: Math.round(elapsedMs),
      answeredPerSecond: Math.round((this.answers / elapsedMs) * 10_000) / 10,
      allowed: this.#allowed,
      denied: this.#denied,
      httpErrors: Object.fromEntries(this.#httpErrors),
      connectionErrors: Object.fromEntries(this.#connectionErrors),
      latencyMs: { corrected: this.#corrected.read(), service: this.#service.read() },
      generator: { late: this.#late, thresholdMs: LATE_MS, lateMs: this.#generator.read() },
    };
  }

  #sent({ generatorLateMs }: Sent, endedMs: number): void {
    this.#lastMs = endedMs;
    this.#generator.record(generatorLateMs);
    if (generatorLateMs > LATE_MS) this.#late++;
  }
}

/** Undefined: this is no decision. */
function successOf(body: string): boolean | undefined {
  try {
    const { data } = JSON.parse(body) as { readonly data?: { readonly success?: unknown } };
    return typeof data?.success === "boolean" ? data.success : undefined;
  } catch {
    return undefined;
  }
}

function count(counts: Map<string, number>, name: string): void {
  const known = counts.has(name) || counts.size < CODES_MAX ? name : "other";
  counts.set(known, (counts.get(known) ?? 0) + 1);
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
