/** A span: a piece of work with a name, a beginning and an end, as OpenTelemetry has it. */

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** One that is over. */
export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Null: the first of its trace. */
  readonly parentSpanId: string | null;
  readonly name: string;
  /** `server`: a request that was answered; `internal`: a part of one. */
  readonly kind: "server" | "internal";
  /** Wall clock, with what the monotonic clock has added since the trace came here. */
  readonly beganMs: number;
  readonly tookMs: number;
  readonly attributes: Attributes;
  readonly isError: boolean;
}
