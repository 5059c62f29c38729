/** The caller of a request: its key and its workspace, and whether both may be used. The workspace comes from the key alone. */
import type { Directory } from "../admin/directory.ts";
import type { KeyRecord, WorkspaceRecord } from "../admin/records.ts";
import { Refusal } from "./refusal.ts";

export interface Caller {
  readonly key: KeyRecord;
  readonly workspace: WorkspaceRecord;
}

/**
 * @param ageMaxMs how old the directory may be; null: any age.
 * @throws Refusal
 */
export function callerOf(directory: Directory, token: string, nowMs: number, ageMaxMs: number | null): Caller {
  if (!directory.isLoaded) throw Refusal.unavailable("The server has not read its keys yet.");
  // The first key is being made, in an empty store. 401 would tell the client that its key is wrong.
  if (!directory.hasKeys) throw Refusal.unavailable("The server has no key yet.");
  // A key may have been revoked since then.
  if (ageMaxMs !== null && directory.ageMs > ageMaxMs) {
    throw Refusal.unavailable(
      "The store of keys has been unavailable for longer than the setting admin.ageMax allows.",
    );
  }
  const key = directory.keyOf(token);
  return usable(key, key === undefined ? undefined : directory.workspaceOf(key.workspaceId), nowMs);
}

/** The caller, if this key and its workspace may be used now. @throws Refusal */
export function usable(key: KeyRecord | undefined, workspace: WorkspaceRecord | undefined, nowMs: number): Caller {
  const isExpired = key !== undefined && key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  if (key === undefined || isExpired || workspace === undefined) {
    throw new Refusal("key_not_found", "The key is unknown, expired or revoked.");
  }
  if (key.isDisabled) throw new Refusal("key_disabled", "The key is disabled.");
  if (workspace.isDisabled) throw new Refusal("workspace_disabled", "The workspace of this key is disabled.");
  return { key, workspace };
}
