/** Who asks: the key of a request, its workspace, and whether both may be used. The workspace comes from the key alone. */
import type { Directory } from "../admin/directory.ts";
import type { KeyRecord, WorkspaceRecord } from "../admin/records.ts";
import { Problem } from "./problem.ts";

export interface Caller {
  readonly key: KeyRecord;
  readonly workspace: WorkspaceRecord;
}

const BEARER = "bearer ";

/** @throws Problem */
export function authenticate(directory: Directory, authorization: string | undefined, nowMs: number): Caller {
  const token = tokenOf(authorization);
  if (!directory.isLoaded) {
    throw new Problem("unavailable", "The server has not read its keys yet. Try again.", { retryAfterS: 1 });
  }
  const key = directory.keyOf(token);
  const isExpired = key !== undefined && key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  const workspace = key === undefined || isExpired ? undefined : directory.workspaceOf(key.workspaceId);
  if (key === undefined || workspace === undefined) {
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
