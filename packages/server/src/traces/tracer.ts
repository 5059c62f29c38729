/**
 * Which requests are traced, and by which ids.
 *
 * A caller that keeps a trace has decided for it (the flag `sampled` of its `traceparent`), unless it is to be ignored. For all others the
 * trace id decides: it is random, and services that sample the same share by it keep the same traces. A request that is not traced costs a
 * look at one header and sixteen random bytes.
 */
import { randomFillSync } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { RequestSpan } from "./request-span.ts";
import type { SpanExporter } from "./span-exporter.ts";
import { type TraceParent, traceParentOf } from "./trace-parent.ts";

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
/**
 * The part of a trace id that decides. By W3C's Trace Context the last seven bytes are random; six of them are enough, and a number holds
 * them exactly. As OpenTelemetry samples, the highest values are kept.
 */
const RANDOM_AT = 9;
const RANDOM_BYTES = 6;
/** Drawn at once: a system call for each would be most of the cost. */
const POOL_BYTES = 4_096;

interface Sampling {
  /** From 0 to 1. */
  readonly ratio: number;
  readonly ignoresParent: boolean;
}

export class Tracer {
  readonly #exporter: SpanExporter;
  /** Trace ids whose random part is at least this are traced. */
  readonly #threshold: number;
  readonly #ignoresParent: boolean;
  readonly #wallMs: () => number;
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #used = POOL_BYTES;

  constructor(exporter: SpanExporter, { ratio, ignoresParent }: Sampling, wallMs: () => number) {
    this.#exporter = exporter;
    this.#threshold = (1 - ratio) * 2 ** (8 * RANDOM_BYTES);
    this.#ignoresParent = ignoresParent;
    this.#wallMs = wallMs;
  }

  /** Null: this one is not traced. */
  begin(operation: string, headers: IncomingHttpHeaders, beganMs: number): RequestSpan | null {
    const parent = traceParentOf(headers["traceparent"]);
    const traceId = parent === null ? this.#drawTraceId() : this.#keeps(parent) ? parent.traceId : null;
    if (traceId === null) return null;
    return new RequestSpan({
      operation,
      traceId,
      spanId: this.#newSpanId(),
      parentSpanId: parent?.spanId ?? null,
      wallMs: this.#wallMs() - (performance.now() - beganMs),
      beganMs,
      newSpanId: () => this.#newSpanId(),
      report: (span) => this.#exporter.add(span),
    });
  }

  /** Sends what is left, within this time. */
  close(withinMs: number): Promise<void> {
    return this.#exporter.close(withinMs);
  }

  /** Null if a trace of this id is not kept. */
  #drawTraceId(): string | null {
    const id = this.#draw(TRACE_ID_BYTES);
    return id.readUIntBE(RANDOM_AT, RANDOM_BYTES) >= this.#threshold ? id.toString("hex") : null;
  }

  #keeps({ traceId, isSampled }: TraceParent): boolean {
    if (!this.#ignoresParent) return isSampled;
    const random = traceId.slice(2 * RANDOM_AT, 2 * (RANDOM_AT + RANDOM_BYTES));
    return Number.parseInt(random, 16) >= this.#threshold;
  }

  #newSpanId(): string {
    return this.#draw(SPAN_ID_BYTES).toString("hex");
  }

  #draw(bytes: number): Buffer {
    if (this.#used + bytes > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    this.#used += bytes;
    return this.#pool.subarray(this.#used - bytes, this.#used);
  }
}
