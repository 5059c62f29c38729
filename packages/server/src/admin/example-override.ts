/** An override for tests: only its identifier matters. */
import type { OverrideRecord } from "./records.ts";

export function exampleOverride(identifier: string): OverrideRecord {
  return {
    id: `rlor_${identifier}`,
    workspaceId: "default",
    namespaceId: "rlns_1",
    identifier,
    limit: 1,
    durationMs: 1_000,
    isShadow: false,
    updatedAtMs: 0,
  };
}
