/** The history of use: sums of a namespace or a workspace over a minute, an hour or a day, of all servers and regions together. */

export interface UsageSums {
  readonly allowed: number;
  readonly denied: number;
  /** Would have been denied, but for a shadow. */
  readonly shadowed: number;
  /** Those of all of them that were decided without information that should have been there. */
  readonly degraded: number;
  /** Accepted cost. */
  readonly cost: number;
}

export const USAGE_SPANS = ["minute", "hour", "day"] as const;
export type UsageSpan = (typeof USAGE_SPANS)[number];

export const SPAN_MS: Readonly<Record<UsageSpan, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** One row: what was counted from `atMs` on, for as long as the span says. */
export interface UsageRow extends UsageSums {
  /** The id of a namespace, or of a workspace for all of its namespaces. */
  readonly subjectId: string;
  readonly span: UsageSpan;
  readonly atMs: number;
}

/** Which part of the history of one subject. */
export interface UsageQuestion {
  readonly subjectId: string;
  readonly span: UsageSpan;
  /** From this moment on, and before that one. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly limit: number;
}

/** A number for each span: how long its rows are kept, or the first moment of which they are. */
export type BySpan = Readonly<Record<UsageSpan, number>>;
