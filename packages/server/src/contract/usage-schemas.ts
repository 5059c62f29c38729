/** The body and the answer of `ratelimit.usage`. */
import { Type } from "typebox";
import { USAGE_SPANS, type UsageSpan } from "../admin/usage-row.ts";
import { moment, strict, text } from "./schemas.ts";

const FORMATS = ["json", "csv"] as const;

const ruleOf = (words: readonly string[]) => words.map((word) => JSON.stringify(word)).join(" or ");

export const UsageBody = Type.Object(
  {
    namespace: Type.Optional(
      text("The namespace: its name or its id. Without it, all namespaces of the workspace together.", ["api"]),
    ),
    by: Type.Optional(
      Type.Unsafe<UsageSpan>({
        type: "string",
        enum: USAGE_SPANS,
        rule: ruleOf(USAGE_SPANS),
        description: "The length of a bucket, in UTC; default `minute`.",
      }),
    ),
    from: Type.Optional(moment("The start of the range, in Unix milliseconds; the bucket that it is in is included.")),
    to: Type.Optional(moment("The end of the range, in Unix milliseconds; default now.")),
    format: Type.Optional(
      Type.Unsafe<(typeof FORMATS)[number]>({
        type: "string",
        enum: FORMATS,
        rule: ruleOf(FORMATS),
        description: "`json` (default), or `csv`: one line per bucket as text/csv.",
      }),
    ),
  },
  strict,
);
export type UsageBody = Type.Static<typeof UsageBody>;

export const sums = {
  allowed: Type.Integer({ description: "Checks that were allowed." }),
  denied: Type.Integer({ description: "Checks that were denied." }),
  shadowed: Type.Integer({ description: "Checks that would have been denied, but for shadow mode." }),
  degraded: Type.Integer({ description: "Those of all checks that were decided without full information." }),
  cost: Type.Integer({ description: "Accepted cost." }),
};

export const UsageData = Type.Object({
  namespaceId: Type.Optional(Type.String({ description: "Missing: all namespaces of the workspace." })),
  by: Type.Unsafe<UsageSpan>({ type: "string", enum: USAGE_SPANS }),
  from: Type.Integer({ description: "Unix milliseconds: the start of the first bucket of the range." }),
  to: Type.Integer({ description: "Unix milliseconds: the end of the last one." }),
  buckets: Type.Array(
    Type.Object({ at: Type.Integer({ description: "Unix milliseconds: the start of the bucket." }), ...sums }),
    { description: "The oldest first. A bucket without any check is left out." },
  ),
});
export type UsageData = Type.Static<typeof UsageData>;
