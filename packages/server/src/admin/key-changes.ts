/** What each change of a key means, within the transaction of its change. */
import { isDeepStrictEqual } from "node:util";
import { isPreset } from "./admin-id.ts";
import { KeyNotRoot, NameTaken } from "./admin-store.ts";
import type { KeyRecord } from "./records.ts";
import type { SqlChange } from "./sql-change.ts";

/** What never changes of a key stays as it was made, whoever saves it. */
export async function putKey(change: SqlChange, key: KeyRecord, action: string): Promise<void> {
  const before = await change.byId("key", key.id);
  if (before === null) {
    const other = await change.byLookup("key", key.hash);
    if (other !== null) throw new NameTaken(`${other.id} has that token`);
  }
  const { workspaceId, hash: keyHash, start, createdAtMs } = before ?? key;
  const after: KeyRecord = { ...key, workspaceId, hash: keyHash, start, createdAtMs };
  await change.write({ kind: "key", before, after, lookup: keyHash, action });
}

function dropKey(change: SqlChange, before: KeyRecord): Promise<void> {
  return change.write({ kind: "key", before, after: before, lookup: null, isDeleted: true, action: "key.revoke" });
}

/** False if there is no such key. */
export async function replaceKey(
  change: SqlChange,
  id: string,
  successor: KeyRecord,
  untilMs: number | null,
): Promise<boolean> {
  const before = await change.byId("key", id);
  if (before === null) return false;
  await putKey(change, successor, "key.create");
  if (untilMs === null) await dropKey(change, before);
  else await putKey(change, { ...before, expiresAtMs: untilMs }, "key.expire");
  return true;
}

/** False if there is no such key. */
export async function revokeKey(change: SqlChange, id: string): Promise<boolean> {
  const before = await change.byId("key", id);
  if (before === null) return false;
  await dropKey(change, before);
  return true;
}

/** The key of the configuration becomes the root key, and every other preset key of its workspace is disabled. */
export async function presetKey(change: SqlChange, key: KeyRecord): Promise<void> {
  const before = await change.byLookup("key", key.hash);
  const same = before?.workspaceId === key.workspaceId ? before : null;
  const { permissions, isDisabled, expiresAtMs } = key;
  const after: KeyRecord = { ...key, ...same, permissions, isDisabled, expiresAtMs };
  // Whoever sets the key that was printed means that one. Any other would become a root key by a slip of the configuration.
  if (same !== null && !isPreset(same) && !isDeepStrictEqual(same, after)) {
    throw new KeyNotRoot(`${same.id} has that token, and is not an active root key`);
  }
  await putKey(change, after, "key.preset");
  for (const other of await change.all("key")) {
    if (!isPreset(other) || other.workspaceId !== key.workspaceId || other.hash === key.hash) continue;
    await putKey(change, { ...other, isDisabled: true }, "key.disable");
  }
}
