/** The `traceparent` of a request, by the W3C's Trace Context: which trace it is part of, if its caller keeps one. */

export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The caller's span: 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** A later version than 00 may have more parts behind these. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NONE = /^0+$/;
const SAMPLED = 1;

/** Null for what is none: by the standard a broken one is ignored. */
export function traceParentOf(header: string | string[] | undefined): TraceParent | null {
  const [, version, traceId, spanId, flags, rest] = typeof header === "string" ? (FORM.exec(header) ?? []) : [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === "ff" || (version === "00" && rest !== undefined)) return null;
  if (NONE.test(traceId) || NONE.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}
