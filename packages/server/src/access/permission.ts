/** What a key may do. `*` is everything; else `ratelimit.*.<action>`, or `ratelimit.<namespace id>.<action>` for one namespace. */
import type { KeyRecord } from "../admin/records.ts";
import { Refusal } from "./refusal.ts";

export const ACTIONS = [
  "limit",
  "create_namespace",
  "read_namespace",
  "update_namespace",
  "delete_namespace",
  "set_override",
  "read_override",
  "delete_override",
  "read_audit",
] as const;
export type Action = (typeof ACTIONS)[number];

/** `namespaceId` is undefined where the namespace is not there: only a permission for all of them will do. */
export function may(key: KeyRecord, action: Action, namespaceId: string | undefined): boolean {
  for (const permission of key.permissions) {
    if (permission === "*" || permission === `ratelimit.*.${action}`) return true;
    if (namespaceId !== undefined && permission === `ratelimit.${namespaceId}.${action}`) return true;
  }
  return false;
}

/** The text is the same for every namespace, there or not: a refusal tells nothing about what exists. */
export function lacking(action: Action): Refusal {
  const orById = action === "create_namespace" ? "" : ` or 'ratelimit.<namespace id>.${action}'`;
  return new Refusal("insufficient_permissions", `The key lacks the permission 'ratelimit.*.${action}'${orById}.`);
}

/** @throws Refusal if the key may not do this. */
export function checkPermission(key: KeyRecord, action: Action, namespaceId: string | undefined): void {
  if (!may(key, action, namespaceId)) throw lacking(action);
}
