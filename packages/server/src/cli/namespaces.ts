/** `sluice namespaces`: those of a running server. */
import { Command } from "commander";
import type { NamespaceData } from "../contract/schemas.ts";
import { oneOf } from "../input/readings.ts";
import type { Console } from "../terminal/console.ts";
import { tableOf } from "../terminal/text-table.ts";
import { clientCommand } from "./client-command.ts";
import type { CommandOutcome, Flag } from "./command-flags.ts";
import { SHADOW } from "./rule-flags.ts";

const DELETED: Flag = {
  name: "deleted",
  value: "",
  help: "include deleted ones",
  rule: "no value",
  read: (value) => value === true,
};

const onOff = oneOf(["on", "off"]);
/** Here both ways are meant. */
const SHADOW_ON_OFF: Flag = {
  ...SHADOW,
  value: "<on|off>",
  rule: "on or off",
  read: (value) => (onOff(value) === undefined ? undefined : value === "on"),
  isNeeded: true,
};

export function namespacesCommand(console: Console): Command {
  const list = clientCommand(console, {
    name: "list",
    description: "List the namespaces.",
    args: [],
    flags: [DELETED],
    run: async (client, { flags }) => {
      const data = await client.askAll<NamespaceData>("listNamespaces", flags);
      return { json: data, text: data.length === 0 ? "no namespaces" : textOf(data) };
    },
  });
  const create = clientCommand(console, {
    name: "create",
    description: "Create a namespace. The name of a deleted one can be used again; its counts start from zero.",
    args: ["<name>"],
    flags: [SHADOW],
    run: async (client, { args: [name], flags }) => outcomeOf(await client.ask("createNamespace", { name, ...flags })),
  });
  const update = clientCommand(console, {
    name: "update",
    description: "Turn shadow mode (count and report, never deny) of a namespace on or off.",
    args: ["<namespace>"],
    flags: [SHADOW_ON_OFF],
    run: async (client, { args: [namespace], flags }) =>
      outcomeOf(await client.ask("updateNamespace", { namespace, ...flags })),
  });
  const remove = clientCommand(console, {
    name: "delete",
    description: "Delete a namespace: limit and multiLimit get status 410 from then on. It can be restored.",
    args: ["<namespace>"],
    run: async (client, { args: [namespace] }) => outcomeOf(await client.ask("deleteNamespace", { namespace })),
  });
  const restore = clientCommand(console, {
    name: "restore",
    description: "Restore a deleted namespace, with its overrides.",
    args: ["<namespace>"],
    run: async (client, { args: [namespace] }) => outcomeOf(await client.ask("restoreNamespace", { namespace })),
  });
  const command = new Command("namespaces").description("Manage the namespaces of a server.");
  for (const item of [list, create, update, remove, restore]) command.addCommand(item);
  return command;
}

function outcomeOf(data: NamespaceData): CommandOutcome {
  return { json: data, text: textOf([data]) };
}

function textOf(namespaces: readonly NamespaceData[]): string {
  const time = (ms: number | undefined) => (ms === undefined ? "" : new Date(ms).toISOString());
  return tableOf(
    ["name", "id", "shadow", "created", "deleted"],
    namespaces.map((item) => [
      item.name,
      item.namespaceId,
      String(item.shadow),
      time(item.createdAt),
      time(item.deletedAt),
    ]),
  );
}
