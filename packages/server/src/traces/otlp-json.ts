/** Spans as OTLP has them in JSON (OpenTelemetry Protocol 1, HTTP): what a collector takes at `/v1/traces`. */
import type { Attributes, Span } from "./span.ts";

/** By the numbers of the protocol. */
const KINDS: Readonly<Record<Span["kind"], number>> = { internal: 1, server: 2 };
const STATUS_UNSET = 0;
const STATUS_ERROR = 2;
const NS_PER_MS = 1e6;

export interface Scope {
  readonly name: string;
  readonly version: string;
}

/** @param resource what is the same for all: which service, which instance of it. */
export function otlpJson(spans: readonly Span[], resource: Attributes, scope: Scope): string {
  return JSON.stringify({
    resourceSpans: [
      { resource: { attributes: attributesOf(resource) }, scopeSpans: [{ scope, spans: spans.map(spanOf) }] },
    ],
  });
}

function spanOf({ traceId, spanId, parentSpanId, name, kind, beganMs, tookMs, attributes, isError }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(beganMs),
    endTimeUnixNano: nanoseconds(beganMs + tookMs),
    attributes: attributesOf(attributes),
    status: { code: isError ? STATUS_ERROR : STATUS_UNSET },
  };
}

function attributesOf(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValueOf(value) }));
}

function anyValueOf(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  // 64 bits wide there, and a text therefore.
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** A text: as a number it would be rounded to a quarter of a microsecond. */
function nanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${String(Math.floor((ms - whole) * NS_PER_MS)).padStart(6, "0")}`;
}
