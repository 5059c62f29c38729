/**
 * What a server needs to be of use: the workspace `default`, and a key that may do everything in it.
 *
 * Made exactly once, however many servers and workers start at the same time: the store decides who did it, and only that one learns
 * the token. A token that the configuration presets is the key from then on, and whatever was preset before is disabled.
 */
import { InputError } from "../input/input-error.ts";
import type { Environment } from "../system/system.ts";
import { newId } from "./admin-id.ts";
import type { AdminStore } from "./admin-store.ts";
import type { KeyRecord, WorkspaceRecord } from "./records.ts";
import { hashOf, isMistyped, newToken, startOf, TOKEN_LENGTH_MAX } from "./token.ts";

export const DEFAULT_WORKSPACE: WorkspaceRecord = { id: "default", name: "default", isDisabled: false, quota: null };
const ACTOR = "server";
/** 20 random hexadecimal digits are 80 bits: too many to guess over HTTP, and for somebody who has the hash. */
const PRESET_LENGTH_MIN = 20;
const PRESET = /^[!-~]+$/;
/** What a key may do that may do everything. */
const EVERYTHING: readonly string[] = ["*"];

export interface Bootstrapped {
  /** The token of the first root key, if this call has made it: to be shown once. */
  readonly createdToken: string | null;
}

export async function bootstrap(
  store: AdminStore,
  presetToken: string | null,
  { clock, random }: Pick<Environment, "clock" | "random">,
): Promise<Bootstrapped> {
  if (presetToken !== null) checkPreset(presetToken);
  const token = presetToken ?? newToken(random);
  const key: KeyRecord = {
    id: newId(presetToken === null ? "key" : "key_preset", random),
    workspaceId: DEFAULT_WORKSPACE.id,
    name: presetToken === null ? "first root key" : "SLUICE_ROOT_KEY",
    hash: hashOf(token),
    start: startOf(token),
    permissions: EVERYTHING,
    isDisabled: false,
    createdAtMs: clock.wallMs(),
    expiresAtMs: null,
  };
  if (presetToken === null) {
    const isCreated = await store.createWorkspace(DEFAULT_WORKSPACE, key, ACTOR);
    return { createdToken: isCreated ? token : null };
  }
  await store.createWorkspace(DEFAULT_WORKSPACE, null, ACTOR);
  await store.presetKey(key, ACTOR);
  return { createdToken: null };
}

/** The value itself is never shown. */
export function checkPreset(token: string): void {
  const rule = `SLUICE_ROOT_KEY must be ${PRESET_LENGTH_MIN} to ${TOKEN_LENGTH_MAX} printable ASCII characters without spaces`;
  const hint = "generate one with: openssl rand -hex 24";
  if (token.length < PRESET_LENGTH_MIN || token.length > TOKEN_LENGTH_MAX) {
    throw new InputError(`${rule}; got ${token.length} characters`, hint);
  }
  if (!PRESET.test(token)) throw new InputError(`${rule}; got other characters among ${token.length}`, hint);
  if (isMistyped(token)) {
    throw new InputError(
      "SLUICE_ROOT_KEY has the form of a Sluice key, but its checksum is wrong",
      "copy the key again",
    );
  }
}
