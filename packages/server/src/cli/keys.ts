/** `sluice keys`: who may come in. A token is printed once, when it is made, and kept nowhere. */
import { Command } from "commander";
import { isPreset } from "../admin/admin-id.ts";
import type { Actor, AdminStore } from "../admin/admin-store.ts";
import { DEFAULT_WORKSPACE } from "../admin/bootstrap.ts";
import { newKey, stateOf } from "../admin/new-key.ts";
import type { KeyRecord, WorkspaceRecord } from "../admin/records.ts";
import { Failure } from "../input/failure.ts";
import { SYSTEM } from "../system/system.ts";
import type { Console } from "../terminal/console.ts";
import { tableOf } from "../terminal/text-table.ts";
import type { CommandOutcome } from "./command-flags.ts";
import { EXPIRES, GRACE, NAME, PERMISSIONS, type Permissions, WORKSPACE } from "./key-flags.ts";
import { storeCommand } from "./store-command.ts";
import { workspaceNamed } from "./workspaces.ts";

const PRESET_HINT =
  "set another SLUICE_ROOT_KEY for the servers; the first one that starts with it disables the old key";
/** A successor would be a key in use that nobody meant to bring back. */
const ROTATE_HINTS = {
  disabled: "enable it with sluice keys enable, or create a new one with sluice keys create",
  expired: "create a new one with sluice keys create",
} as const;
const ONCE = "This key is shown only once; it is not stored.";

export function keysCommand(console: Console): Command {
  const create = storeCommand(console, {
    name: "create",
    description: "Create a key, and print it once.",
    flags: [WORKSPACE, NAME, PERMISSIONS, EXPIRES],
    run: async (store, { flags }, actor) => {
      const workspace = await workspaceFor(store, flags["workspace"] as string | undefined, actor);
      const permissions = (flags["permissions"] as Permissions | undefined) ?? PERMISSIONS.initial;
      const untilMs = (flags["expires"] as ((nowMs: number) => number) | undefined)?.(SYSTEM.clock.wallMs()) ?? null;
      if (untilMs !== null && untilMs <= SYSTEM.clock.wallMs()) throw EXPIRES.past(untilMs);
      const name = (flags["name"] as string | undefined) ?? "";
      const { key, token } = newKey({ workspaceId: workspace.id, name, permissions, expiresAtMs: untilMs }, SYSTEM);
      await store.saveKey(key, "key.create", actor);
      return made(key, token);
    },
  });
  const list = storeCommand(console, {
    name: "list",
    description: "List the keys, with the first characters of each.",
    flags: [WORKSPACE],
    run: async (store, { flags }) => {
      const { keys, workspaces } = await everything(store);
      const named = flags["workspace"] as string | undefined;
      const only = named === undefined ? null : workspaceNamed(workspaces, named).id;
      const shown = keys.filter(({ workspaceId }) => only === null || workspaceId === only).map(dataOf);
      return { json: shown, text: shown.length === 0 ? "no keys" : textOf(shown) };
    },
  });
  const rotate = storeCommand(console, {
    name: "rotate",
    description:
      "Replace a key with a new one that has the same permissions, and print it once. The old key is revoked immediately, or after --grace.",
    args: ["<key>"],
    flags: [GRACE],
    run: async (store, { args: [id], flags }, actor) => {
      const old = await keyById(store, id!);
      if (isPreset(old)) throw new Failure(`${old.id} is preset by SLUICE_ROOT_KEY`, PRESET_HINT);
      const { state } = dataOf(old);
      if (state !== "active") throw new Failure(`${old.id} is ${state}`, ROTATE_HINTS[state]);
      const { key, token } = newKey(old, SYSTEM);
      const graceMs = (flags["grace"] as number | undefined) ?? 0;
      const endMs = Math.min(SYSTEM.clock.wallMs() + graceMs, old.expiresAtMs ?? Number.POSITIVE_INFINITY);
      if (!(await store.replaceKey(old.id, key, graceMs === 0 ? null : endMs, actor))) throw unknownKey(id!);
      const end = graceMs === 0 ? "is revoked" : `ends at ${new Date(endMs).toISOString()}`;
      return made(key, token, `${old.id} ${end}. `);
    },
  });
  const revoke = storeCommand(console, {
    name: "revoke",
    description: "Revoke a key for good. Servers refuse it within a second.",
    args: ["<key>"],
    run: async (store, { args: [id] }, actor) => {
      const old = await keyById(store, id!);
      if (!(await store.deleteKey(old.id, actor))) throw unknownKey(id!);
      const notice = isPreset(old)
        ? { notice: `A server with it as SLUICE_ROOT_KEY enables it again: ${PRESET_HINT}` }
        : {};
      return { json: { id: old.id, revoked: true }, text: `${old.id} is revoked`, ...notice };
    },
  });
  const command = new Command("keys").description("Manage the keys that authenticate requests.");
  for (const item of [create, list, rotate, revoke, ...switches(console)]) command.addCommand(item);
  return command;
}

/** Out of use for a while, and back. */
function switches(console: Console): Command[] {
  const turned = (name: "disable" | "enable", description: string) =>
    storeCommand(console, {
      name,
      description,
      args: ["<key>"],
      run: async (store, { args: [id] }, actor) => {
        const key = { ...(await keyById(store, id!)), isDisabled: name === "disable" };
        await store.saveKey(key, `key.${name}`, actor);
        return { json: dataOf(key), text: textOf([dataOf(key)]) };
      },
    });
  return [
    turned("disable", "Disable a key; requests with it get an error that says so."),
    turned("enable", "Enable a disabled key."),
  ];
}

function made(key: KeyRecord, token: string, more = ""): CommandOutcome {
  return { json: { ...dataOf(key), key: token }, text: token, notice: `${more}${key.id}, ${summary(key)}. ${ONCE}` };
}

function summary({ workspaceId, permissions, expiresAtMs }: KeyRecord): string {
  const end = expiresAtMs === null ? "" : `, until ${new Date(expiresAtMs).toISOString()}`;
  return `workspace ${workspaceId}, may ${permissions.join(", ")}${end}`;
}

type KeyData = ReturnType<typeof dataOf>;

/** Without the hash. */
function dataOf(key: KeyRecord) {
  const { id, workspaceId, name, start, permissions, createdAtMs, expiresAtMs } = key;
  return {
    id,
    workspace: workspaceId,
    name,
    start,
    permissions,
    state: stateOf(key, SYSTEM.clock.wallMs()),
    createdAt: createdAtMs,
    ...(expiresAtMs === null ? {} : { expiresAt: expiresAtMs }),
  };
}

function textOf(keys: readonly KeyData[]): string {
  return tableOf(
    ["id", "key", "workspace", "name", "state", "created", "expires", "permissions"],
    keys.map(({ id, start, workspace, name, state, createdAt, expiresAt, permissions }) => [
      id,
      `${start}…`,
      workspace,
      name,
      state,
      new Date(createdAt).toISOString(),
      expiresAt === undefined ? "never" : new Date(expiresAt).toISOString(),
      permissions.join(","),
    ]),
  );
}

async function keyById(store: AdminStore, id: string): Promise<KeyRecord> {
  const found = (await everything(store)).keys.find((item) => item.id === id);
  if (found === undefined) throw unknownKey(id);
  const { isDeleted: _, ...key } = found;
  return key;
}

async function everything(store: AdminStore) {
  // Asked for everything, a store answers.
  return (await store.changesSince(0))!;
}

/** What is no id may be a key itself, and is not repeated. */
function unknownKey(id: string): Failure {
  const given = /^key_\w{1,64}$/.test(id) ? id : "of that id";
  return new Failure(`there is no key ${given}`, "sluice keys list shows the ids; they begin with key_");
}

/** Keys may be made before the first server starts: then the first workspace is, too. */
async function workspaceFor(store: AdminStore, named: string | undefined, actor: Actor): Promise<WorkspaceRecord> {
  if (named === undefined || named === DEFAULT_WORKSPACE.id) {
    await store.createWorkspace(DEFAULT_WORKSPACE, null, actor);
    return DEFAULT_WORKSPACE;
  }
  return workspaceNamed((await everything(store)).workspaces, named);
}
