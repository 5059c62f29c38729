/**
 * What a key may do. `*` is everything; else `ratelimit.*.<action>`, or `ratelimit.<namespace id>.<action>` for one namespace, or
 * `admin.*.<action>` for the keys of its workspace. What concerns the whole server needs `*` in the workspace `default`.
 */
import { DEFAULT_WORKSPACE } from "../admin/bootstrap.ts";
import type { KeyRecord } from "../admin/records.ts";
import { Refusal } from "./refusal.ts";

export const ACTIONS = [
  "limit",
  "charge",
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

export const ADMIN_ACTIONS = ["read_key", "create_key", "rotate_key", "revoke_key"] as const;
export type AdminAction = (typeof ADMIN_ACTIONS)[number];

/** What a route needs: an action, `*` in the workspace `default`, or any key. */
export type RouteAction = Action | AdminAction | "*" | "any";

/** Permissions of one key. */
export const PERMISSIONS_MAX = 100;
/** The form of a permission, as a regular expression: what does not exist yet has no id, so `create_namespace` is for all namespaces only. */
export const PERMISSION_PATTERN = `^(?:\\*|ratelimit\\.\\*\\.(?:${ACTIONS.join("|")})|ratelimit\\.rlns_[0-9A-Za-z]{1,64}\\.(?:${ACTIONS.filter((action) => action !== "create_namespace").join("|")})|admin\\.\\*\\.(?:${ADMIN_ACTIONS.join("|")}))$`;
const PERMISSION = new RegExp(PERMISSION_PATTERN);

export function isPermission(text: string): boolean {
  return PERMISSION.test(text);
}

/** The permission for an action anywhere in a workspace. */
export function permissionOf(action: RouteAction): string {
  if (action === "*" || action === "any") return "*";
  return isAdminAction(action) ? `admin.*.${action}` : `ratelimit.*.${action}`;
}

export function isAdminAction(action: RouteAction): action is AdminAction {
  return ADMIN_ACTIONS.some((one) => one === action);
}

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

/** @throws Refusal if the key may not do this with the keys of its workspace. */
export function checkAdmin(key: KeyRecord, action: AdminAction): void {
  const wanted = permissionOf(action);
  if (key.permissions.some((permission) => permission === "*" || permission === wanted)) return;
  throw new Refusal("insufficient_permissions", `The key lacks the permission '${wanted}'.`);
}

/** Whether the key may know and do what concerns the whole server. */
export function mayServe({ permissions, workspaceId }: KeyRecord): boolean {
  return workspaceId === DEFAULT_WORKSPACE.id && permissions.includes("*");
}

/** @throws Refusal if the key may not know and do what concerns the whole server. */
export function checkServer(key: KeyRecord): void {
  if (mayServe(key)) return;
  throw new Refusal("insufficient_permissions", "The key lacks the permission '*' in the workspace 'default'.");
}

/** Those of these permissions that the key does not have itself: it can give them to nobody. */
export function beyond(key: KeyRecord, permissions: readonly string[]): readonly string[] {
  const own = new Set(key.permissions);
  if (own.has("*")) return [];
  return permissions.filter(
    (wanted) => !own.has(wanted) && !own.has(wanted.replace(/^ratelimit\.rlns_\w+\./, "ratelimit.*.")),
  );
}
