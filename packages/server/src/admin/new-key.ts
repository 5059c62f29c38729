/** A new key and its token, which is shown once and stored nowhere; and what may be shown of a key. */
import type { Environment } from "../system/system.ts";
import { newId } from "./admin-id.ts";
import type { KeyRecord } from "./records.ts";
import { hashOf, newToken, startOf } from "./token.ts";

export interface NewKey {
  readonly key: KeyRecord;
  readonly token: string;
}

export type KeyWish = Pick<KeyRecord, "workspaceId" | "name" | "permissions" | "expiresAtMs">;

export function newKey(
  { workspaceId, name, permissions, expiresAtMs }: KeyWish,
  { clock, random }: Pick<Environment, "clock" | "random">,
): NewKey {
  const token = newToken(random);
  const key: KeyRecord = {
    id: newId("key", random),
    workspaceId,
    name,
    hash: hashOf(token),
    start: startOf(token),
    permissions,
    isDisabled: false,
    createdAtMs: clock.wallMs(),
    expiresAtMs,
  };
  return { key, token };
}

export const KEY_STATES = ["active", "disabled", "expired"] as const;
export type KeyState = (typeof KEY_STATES)[number];

export function stateOf({ isDisabled, expiresAtMs }: KeyRecord, nowMs: number): KeyState {
  if (isDisabled) return "disabled";
  return expiresAtMs !== null && expiresAtMs <= nowMs ? "expired" : "active";
}
