/** What every request costs of its workspace's quota, taken before its body is read. */
import { ARRIVAL_COST, type Quota } from "../../access/quota.ts";
import type { WorkspaceRecord } from "../../admin/records.ts";
import type { RequestSpan } from "../../traces/request-span.ts";

/** @throws Refusal (or rejects with it) if the quota is used up. */
export function chargeArrival(
  quota: Quota,
  workspace: WorkspaceRecord,
  span: RequestSpan | null,
): undefined | Promise<undefined> {
  const taken = quota.take(workspace, ARRIVAL_COST);
  if (taken === null) return undefined;
  if (!(taken instanceof Promise)) return quota.check(taken);
  return (span?.waited(taken) ?? taken).then((decision) => quota.check(decision));
}
