/** Who asks: the key of a request, its workspace, and whether both may be used. The workspace comes from the key alone. */
import type { Directory } from "../admin/directory.ts";
import type { KeyRecord, WorkspaceRecord } from "../admin/records.ts";
import { Problem } from "../contract/problem.ts";

export interface Caller {
  readonly key: KeyRecord;
  readonly workspace: WorkspaceRecord;
}

const BEARER = "bearer ";

/**
 * @param ageMaxMs how old the directory may be; null: any age.
 * @throws Problem
 */
export function authenticate(
  directory: Directory,
  authorization: string | undefined,
  nowMs: number,
  ageMaxMs: number | null,
): Caller {
  const token = tokenOf(authorization);
  if (!directory.isLoaded) {
    throw new Problem("unavailable", "The server has not read its keys yet. Try again.", { retryAfterS: 1 });
  }
  // A key may have been revoked since then.
  if (ageMaxMs !== null && directory.ageMs > ageMaxMs) {
    const detail = "The store of keys could not be read for longer than the setting admin.ageMax allows. Try again.";
    throw new Problem("unavailable", detail, { retryAfterS: 1 });
  }
  const key = directory.keyOf(token);
  return usable(key, key === undefined ? undefined : directory.workspaceOf(key.workspaceId), nowMs);
}

/** The caller, if this key and its workspace may be used now. @throws Problem */
export function usable(key: KeyRecord | undefined, workspace: WorkspaceRecord | undefined, nowMs: number): Caller {
  const isExpired = key !== undefined && key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  if (key === undefined || isExpired || workspace === undefined) {
    throw new Problem("key_not_found", "There is no such key, or it has expired or was revoked.");
  }
  if (key.isDisabled) throw new Problem("key_disabled", "The key is disabled.");
  if (workspace.isDisabled) throw new Problem("workspace_disabled", "The workspace of this key is disabled.");
  return { key, workspace };
}

function tokenOf(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw new Problem("malformed_authorization", "The header Authorization is missing: send 'Bearer <root key>'.");
  }
  if (authorization.slice(0, BEARER.length).toLowerCase() !== BEARER) {
    throw new Problem("malformed_authorization", "The header Authorization must be 'Bearer <root key>'.");
  }
  const token = authorization.slice(BEARER.length).trim();
  if (token === "") throw new Problem("malformed_authorization", "The key in the header Authorization is empty.");
  return token;
}
