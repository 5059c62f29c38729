/** `sluice workspaces`: tenants. Each has its own keys, namespaces and overrides, and sees nobody else's. */
import { Command } from "commander";
import { newId } from "../admin/admin-id.ts";
import type { AdminStore } from "../admin/admin-store.ts";
import type { WorkspaceRecord } from "../admin/records.ts";
import { Failure } from "../input/failure.ts";
import { InputError } from "../input/input-error.ts";
import { SYSTEM } from "../system/system.ts";
import type { Console } from "../terminal/console.ts";
import { tableOf } from "../terminal/text-table.ts";
import { exactSpan } from "../text/figures.ts";
import type { CommandOutcome, Flag } from "./command-flags.ts";
import { NAME } from "./key-flags.ts";
import { DURATION, LIMIT } from "./rule-flags.ts";
import { storeCommand } from "./store-command.ts";

const NONE: Flag = {
  name: "none",
  value: "",
  help: "remove its quota; the server's default applies",
  rule: "no value",
  read: (value) => value === true,
};

export function workspacesCommand(console: Console): Command {
  const create = storeCommand(console, {
    name: "create",
    description: "Create a workspace. It has no key yet: create one with sluice keys create --workspace NAME.",
    args: ["<name>"],
    run: async (store, { args: [name] }, actor) => {
      const { rule, read } = NAME;
      const hint = "choose a short name";
      if (read(name) === undefined) throw InputError.of({ field: "the name", rule, value: name, hint });
      const taken = (await allOf(store)).find((item) => item.name === name || item.id === name);
      if (taken !== undefined) throw new Failure(`${taken.id} has that name`, "choose another");
      const made = { id: newId("ws", SYSTEM.random), name: name!, isDisabled: false, quota: null };
      await store.createWorkspace(made, null, actor);
      return outcomeOf([made]);
    },
  });
  const list = storeCommand(console, {
    name: "list",
    description: "List the workspaces.",
    run: async (store) => {
      const all = await allOf(store);
      return { json: all.map(dataOf), text: all.length === 0 ? "no workspaces" : textOf(all) };
    },
  });
  const quota = storeCommand(console, {
    name: "quota",
    description: "Limit the total requests of all keys of a workspace.",
    args: ["<workspace>"],
    flags: [{ ...LIMIT, help: "requests per window" }, DURATION, NONE],
    run: async (store, { args: [named], flags }, actor) => {
      const { limit, duration, none } = flags as { limit?: number; duration?: number; none?: boolean };
      const isWhole =
        none === true ? limit === undefined && duration === undefined : limit !== undefined && duration !== undefined;
      if (!isWhole) {
        throw new InputError(
          "a quota must be --limit and --duration, or --none",
          "such as --limit 10000 --duration 10s",
        );
      }
      const before = workspaceNamed(await allOf(store), named!);
      const after = { ...before, quota: none === true ? null : { limit: limit!, durationMs: duration! } };
      await store.saveWorkspace(after, actor);
      return outcomeOf([after]);
    },
  });
  const command = new Command("workspaces").description("Manage the workspaces (tenants) of a server.");
  for (const item of [create, list, quota, ...switches(console)]) command.addCommand(item);
  return command;
}

function switches(console: Console): Command[] {
  const turned = (name: "disable" | "enable", description: string) =>
    storeCommand(console, {
      name,
      description,
      args: ["<workspace>"],
      run: async (store, { args: [named] }, actor) => {
        const after = { ...workspaceNamed(await allOf(store), named!), isDisabled: name === "disable" };
        await store.saveWorkspace(after, actor);
        return outcomeOf([after]);
      },
    });
  return [
    turned("disable", "Disable a workspace: all its keys are refused."),
    turned("enable", "Enable a disabled workspace."),
  ];
}

/** By id or name. */
export function workspaceNamed(workspaces: readonly WorkspaceRecord[], named: string): WorkspaceRecord {
  const found = workspaces.find(({ id }) => id === named) ?? workspaces.find(({ name }) => name === named);
  if (found !== undefined) return found;
  throw new Failure(`there is no workspace ${JSON.stringify(named)}`, "sluice workspaces list shows them");
}

async function allOf(store: AdminStore): Promise<readonly WorkspaceRecord[]> {
  return (await store.changesSince(0))!.workspaces;
}

function outcomeOf(workspaces: readonly WorkspaceRecord[]): CommandOutcome {
  return { json: dataOf(workspaces[0]!), text: textOf(workspaces) };
}

function dataOf({ id, name, isDisabled, quota }: WorkspaceRecord) {
  return { id, name, disabled: isDisabled, quota: quota && { limit: quota.limit, duration: quota.durationMs } };
}

function textOf(workspaces: readonly WorkspaceRecord[]): string {
  return tableOf(
    ["id", "name", "state", "quota"],
    workspaces.map(({ id, name, isDisabled, quota }) => [
      id,
      name,
      isDisabled ? "disabled" : "active",
      quota === null ? "the server's" : `${quota.limit} in ${exactSpan(quota.durationMs)}`,
    ]),
  );
}
