/**
 * The keys of a workspace: listed, created, rotated and revoked by another of its keys.
 *
 * Invariant: no key gets more through here than the key that asks has: the same workspace, no permission beyond its own, no later end. So a key
 * can neither be rotated nor revoked by one that has less. Checked again inside the transaction of each change.
 */
import { actorChecked } from "../../access/actor.ts";
import type { Caller } from "../../access/caller.ts";
import { type AdminAction, beyond, checkAdmin } from "../../access/permission.ts";
import { ITEMS_PER_UNIT } from "../../access/quota.ts";
import { Refusal } from "../../access/refusal.ts";
import { isPreset } from "../../admin/admin-id.ts";
import type { KeyActor } from "../../admin/admin-store.ts";
import { newKey, stateOf } from "../../admin/new-key.ts";
import type { KeyRecord } from "../../admin/records.ts";
import type {
  CreateKeyBody,
  KeyBody,
  KeyData,
  ListKeysBody,
  NewKeyData,
  OwnKeyData,
  RevokedKeyData,
  RotateKeyBody,
} from "../../contract/key-schemas.ts";
import { Problem } from "../../contract/problem.ts";
import { pageOf } from "./list-page.ts";
import type { Answer, RouteParts } from "./route.ts";

/** Of a workspace: every server holds all of them in memory, at most 8 KiB each (100 permissions). */
const KEYS_MAX = 1_000;

/** The calling key itself. */
export function getKey({ wallMs }: RouteParts, { key, workspace }: Caller): Answer<OwnKeyData> {
  return { data: { ...dataOf(key, wallMs()), workspace: { id: workspace.id, name: workspace.name } } };
}

export async function listKeys(
  { directory, quota, wallMs }: RouteParts,
  { key, workspace }: Caller,
  body: ListKeysBody,
): Promise<Answer<KeyData[]>> {
  checkAdmin(key, "read_key");
  const all = directory.keysOf(workspace.id).toSorted((one, other) => (textOf(one) < textOf(other) ? -1 : 1));
  await quota.chargeRead(workspace, Math.floor(all.length / ITEMS_PER_UNIT));
  const nowMs = wallMs();
  return pageOf(all, body, textOf, (item) => dataOf(item, nowMs));
}

export async function createKey(
  { directory, store, environment, wallMs }: RouteParts,
  caller: Caller,
  { name = "", permissions, expiresAt }: CreateKeyBody,
): Promise<Answer<NewKeyData>> {
  const { key: own, workspace } = caller;
  const wanted = [...new Set(permissions)];
  const actor = giverOf(caller, "create_key", wanted);
  if (!name.isWellFormed()) throw Refusal.at("name", "must be well-formed Unicode; got half of a surrogate pair");
  const expiresAtMs = expiresAt ?? own.expiresAtMs;
  if (expiresAt !== undefined && expiresAt <= wallMs()) throw Refusal.at("expiresAt", "must be a time in the future");
  if (own.expiresAtMs !== null && (expiresAtMs ?? Number.POSITIVE_INFINITY) > own.expiresAtMs) {
    throw Refusal.at("expiresAt", `must not be after ${own.expiresAtMs}, when the calling key expires`);
  }
  if (directory.keysOf(workspace.id).length >= KEYS_MAX) {
    throw new Problem("key_limit_reached", `The workspace has ${KEYS_MAX} keys, which is the maximum. Revoke some.`);
  }
  const { key, token } = newKey({ workspaceId: workspace.id, name, permissions: wanted, expiresAtMs }, environment);
  await store.saveKey(key, "key.create", actor);
  await directory.refresh().catch(() => {});
  return { data: { key: token, ...dataOf(key, wallMs()) } };
}

export async function rotateKey(
  { directory, store, environment, wallMs }: RouteParts,
  caller: Caller,
  { keyId, grace }: RotateKeyBody,
): Promise<Answer<NewKeyData>> {
  checkAdmin(caller.key, "rotate_key");
  const old = keyOf(directory.keysOf(caller.workspace.id), keyId);
  const actor = giverOf(caller, "rotate_key", old.permissions);
  if (isPreset(old)) throw notRotatable("is preset by SLUICE_ROOT_KEY: change that setting of the servers");
  const state = stateOf(old, wallMs());
  if (state !== "active") throw notRotatable(`is ${state}: create another one`);
  if (outlives(old, caller.key)) throw notRotatable("expires after the calling key, which cannot make such a key");
  const { key, token } = newKey(old, environment);
  const endMs = Math.min(wallMs() + (grace ?? 0), old.expiresAtMs ?? Number.POSITIVE_INFINITY);
  if (!(await store.replaceKey(old.id, key, grace === undefined ? null : endMs, actor))) throw keyMissing();
  await directory.refresh().catch(() => {});
  return { data: { key: token, ...dataOf(key, wallMs()) } };
}

export async function revokeKey(
  { directory, store }: RouteParts,
  caller: Caller,
  { keyId }: KeyBody,
): Promise<Answer<RevokedKeyData>> {
  checkAdmin(caller.key, "revoke_key");
  const old = keyOf(directory.keysOf(caller.workspace.id), keyId);
  const actor = giverOf(caller, "revoke_key", old.permissions);
  if (!(await store.deleteKey(old.id, actor))) throw keyMissing();
  await directory.refresh().catch(() => {});
  return { data: { keyId: old.id, revoked: true } };
}

/** The caller, as one who may do this with a key of these permissions. @throws Refusal if it may not. */
function giverOf(caller: Caller, action: AdminAction, permissions: readonly string[]): KeyActor {
  const check = (key: KeyRecord) => {
    checkAdmin(key, action);
    const [first] = beyond(key, permissions);
    if (first === undefined) return;
    const detail = `The calling key does not have the permission '${first}' itself.`;
    throw new Refusal("insufficient_permissions", detail);
  };
  check(caller.key);
  return actorChecked(caller, check);
}

function outlives({ expiresAtMs }: KeyRecord, caller: KeyRecord): boolean {
  return caller.expiresAtMs !== null && (expiresAtMs ?? Number.POSITIVE_INFINITY) > caller.expiresAtMs;
}

function keyOf(keys: readonly KeyRecord[], keyId: string): KeyRecord {
  const found = keys.find(({ id }) => id === keyId);
  if (found === undefined) throw keyMissing();
  return found;
}

function keyMissing(): Problem {
  return new Problem("managed_key_not_found", "There is no key with this id in the workspace.");
}

function notRotatable(why: string): Problem {
  return new Problem("key_not_rotatable", `The key ${why}.`);
}

function textOf({ name, id }: KeyRecord): string {
  return `${name}\u0000${id}`;
}

function dataOf(key: KeyRecord, nowMs: number): KeyData {
  const { id, name, start, permissions, createdAtMs, expiresAtMs } = key;
  const data: KeyData = {
    keyId: id,
    name,
    start,
    permissions: [...permissions],
    state: stateOf(key, nowMs),
    preset: isPreset(key),
    createdAt: createdAtMs,
  };
  return expiresAtMs === null ? data : { ...data, expiresAt: expiresAtMs };
}
