/** `usage`: what a namespace or a whole workspace was asked for over time, of all servers and regions, as JSON or CSV. */
import type { Caller } from "../../access/caller.ts";
import { namespaceFor } from "../../access/names.ts";
import { checkPermission } from "../../access/permission.ts";
import { ROWS_PER_UNIT } from "../../access/quota.ts";
import { SPAN_MS, type UsageRow, type UsageSums } from "../../admin/usage-row.ts";
import { Problem } from "../../contract/problem.ts";
import type { UsageBody, UsageData } from "../../contract/usage-schemas.ts";
import type { Answer, RouteParts } from "./route.ts";

/** Of one answer: a day of minutes, two months of hours, four years of days. */
const BUCKETS_MAX = 1_500;
/** What is shown where the range is left out: an hour of minutes, two days of hours, two months of days. */
const BUCKETS_DEFAULT = { minute: 60, hour: 48, day: 60 } as const;

export async function usage(
  { directory, store, quota, turnstiles, wallMs }: RouteParts,
  caller: Caller,
  { namespace: idOrName, by = "minute", from, to, format = "json" }: UsageBody,
): Promise<Answer<UsageData>> {
  const { key, workspace } = caller;
  if (idOrName === undefined) checkPermission(key, "read_namespace", undefined);
  const namespace = idOrName === undefined ? null : namespaceFor(directory, caller, idOrName, "read_namespace");
  const spanMs = SPAN_MS[by];
  const toMs = endOf(to ?? wallMs() + 1, spanMs);
  const fromMs = startOf(from ?? toMs - BUCKETS_DEFAULT[by] * spanMs, spanMs);
  const count = (toMs - fromMs) / spanMs;
  if (fromMs >= toMs) throw Problem.at("body.from", `must be before the end of the range; got ${from}`);
  if (count > BUCKETS_MAX) {
    const fix = by === "day" ? "Ask for a shorter range." : "Ask for a shorter range, or for longer buckets (by).";
    throw Problem.at("body.from", `must be at most ${BUCKETS_MAX} buckets (${by}) before the end; got ${count}`, fix);
  }
  await quota.chargeRead(workspace, Math.floor(count / ROWS_PER_UNIT));
  const subjectId = namespace?.id ?? workspace.id;
  const question = { subjectId, span: by, fromMs, toMs, limit: BUCKETS_MAX };
  const rows = await turnstiles.audit.run(workspace.id, () => store.readUsage(workspace.id, question));
  const data: UsageData = {
    ...(namespace === null ? {} : { namespaceId: namespace.id }),
    by,
    from: fromMs,
    to: toMs,
    buckets: rows.map(({ atMs, ...row }) => ({ at: atMs, ...sumsOf(row) })),
  };
  return format === "csv" ? { data, raw: { type: "text/csv; charset=utf-8", text: csvOf(rows) } } : { data };
}

function startOf(ms: number, spanMs: number): number {
  return Math.max(0, ms - (ms % spanMs));
}

/** The end of the bucket that a range ends in. */
function endOf(ms: number, spanMs: number): number {
  return spanMs * Math.ceil(ms / spanMs);
}

function sumsOf({ allowed, denied, shadowed, degraded, cost }: UsageSums): UsageSums {
  return { allowed, denied, shadowed, degraded, cost };
}

const COLUMNS = ["allowed", "denied", "shadowed", "degraded", "cost"] as const;

/** Numbers and times only: nothing that a spreadsheet could take for a formula. */
function csvOf(rows: readonly UsageRow[]): string {
  const lines = rows.map((row) => [new Date(row.atMs).toISOString(), ...COLUMNS.map((name) => row[name])].join(","));
  return `${["at", ...COLUMNS].join(",")}\r\n${lines.map((line) => `${line}\r\n`).join("")}`;
}
