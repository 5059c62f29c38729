/**
 * Which requests are traced, and by which ids.
 *
 * A caller that keeps a trace has decided for it (the flag `sampled` of its `traceparent`); of the others the given share is drawn. A request
 * that is not traced costs a look at one header and four random bytes.
 */
import { randomFillSync } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { RequestSpan } from "./request-span.ts";
import type { SpanExporter } from "./span-exporter.ts";
import { traceParentOf } from "./trace-parent.ts";

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
const SAMPLE_BYTES = 4;
/** Drawn at once: a system call for each would be most of the cost. */
const POOL_BYTES = 4_096;

export class Tracer {
  readonly #exporter: SpanExporter;
  /** Of 2^32. */
  readonly #share: number;
  readonly #wallMs: () => number;
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #used = POOL_BYTES;

  constructor(exporter: SpanExporter, ratio: number, wallMs: () => number) {
    this.#exporter = exporter;
    this.#share = ratio * 2 ** (8 * SAMPLE_BYTES);
    this.#wallMs = wallMs;
  }

  /** Null: this one is not traced. */
  begin(operation: string, headers: IncomingHttpHeaders, beganMs: number): RequestSpan | null {
    const parent = traceParentOf(headers["traceparent"]);
    const isTraced = parent === null ? this.#draw(SAMPLE_BYTES).readUInt32BE() < this.#share : parent.isSampled;
    if (!isTraced) return null;
    return new RequestSpan({
      operation,
      traceId: parent?.traceId ?? this.#draw(TRACE_ID_BYTES).toString("hex"),
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
