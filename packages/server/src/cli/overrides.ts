/** `sluice overrides`: limits of their own for some identifiers, on a running server. */
import { Command } from "commander";
import type { OverrideData } from "../contract/schemas.ts";
import type { Console } from "../terminal/console.ts";
import { tableOf } from "../terminal/text-table.ts";
import { exactSpan } from "../text/figures.ts";
import { clientCommand } from "./client-command.ts";
import { DURATION, LIMIT, needed, SHADOW } from "./rule-flags.ts";

const ONE = ["<namespace>", "<identifier>"];

export function overridesCommand(console: Console): Command {
  const set = clientCommand(console, {
    name: "set",
    description: "Set the override of an identifier, or of all that match a pattern (* matches any characters).",
    args: ONE,
    flags: [needed(LIMIT), needed(DURATION), SHADOW],
    run: async (client, { args: [namespace, identifier], flags }) => {
      const data = await client.ask<{ overrideId: string }>("setOverride", { namespace, identifier, ...flags });
      return { json: data, text: `set ${data.overrideId}` };
    },
  });
  const get = clientCommand(console, {
    name: "get",
    description: "Show the override of an identifier or pattern.",
    args: ONE,
    run: async (client, { args: [namespace, identifier] }) => {
      const data = await client.ask<OverrideData>("getOverride", { namespace, identifier });
      return { json: data, text: textOf([data]) };
    },
  });
  const list = clientCommand(console, {
    name: "list",
    description: "List the overrides of a namespace.",
    args: ["<namespace>"],
    run: async (client, { args: [namespace] }) => {
      const data = await client.askAll<OverrideData>("listOverrides", { namespace });
      return { json: data, text: data.length === 0 ? "no overrides" : textOf(data) };
    },
  });
  const remove = clientCommand(console, {
    name: "delete",
    description: "Delete the override of an identifier or pattern.",
    args: ONE,
    run: async (client, { args: [namespace, identifier] }) => {
      const data = await client.ask<object>("deleteOverride", { namespace, identifier });
      return { json: data, text: "deleted" };
    },
  });
  const command = new Command("overrides").description("Manage overrides: separate limits for some identifiers.");
  for (const item of [set, get, list, remove]) command.addCommand(item);
  return command;
}

function textOf(overrides: readonly OverrideData[]): string {
  return tableOf(
    ["identifier", "limit", "duration", "shadow", "id"],
    overrides.map((item) => [
      item.identifier,
      String(item.limit),
      exactSpan(item.duration),
      String(item.shadow),
      item.overrideId,
    ]),
  );
}
