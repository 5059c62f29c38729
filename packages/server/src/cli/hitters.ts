/** `sluice hitters`: who used a namespace of a running server most, or was denied most, over the last minutes. */
import type { Command } from "commander";
import type { TopIdentifiersData } from "../contract/schemas.ts";
import { HIT_BY } from "../hitters/hitters.ts";
import { integerWithin, oneOf } from "../input/readings.ts";
import type { Console } from "../terminal/console.ts";
import { tableOf } from "../terminal/text-table.ts";
import { clientCommand } from "./client-command.ts";
import type { Flag } from "./command-flags.ts";

const LIMIT_MAX = 100;

const BY: Flag = {
  name: "by",
  value: "<what>",
  help: "use: accepted cost; denials: checks that were denied",
  rule: HIT_BY.join(" or "),
  read: oneOf(HIT_BY),
};

const LIMIT: Flag = {
  name: "limit",
  value: "<n>",
  help: "how many identifiers; else 10",
  rule: `an integer from 1 to ${LIMIT_MAX}`,
  read: integerWithin(1, LIMIT_MAX),
};

export function hittersCommand(console: Console): Command {
  return clientCommand(console, {
    name: "hitters",
    description: "List who used a namespace most over the last five minutes, or was denied most, on a running server.",
    args: ["<namespace>"],
    flags: [BY, LIMIT],
    run: async (client, { args: [namespace], flags }) => {
      const data = await client.ask<TopIdentifiersData>("topIdentifiers", { namespace, ...flags });
      return { json: data, text: hittersText(data) };
    },
  });
}

function hittersText(data: TopIdentifiersData): string {
  const { by, from, total, errorMax, complete, identifiers, othersAtMost } = data;
  const what = by === "use" ? "of accepted cost" : "denials";
  const lines = [
    `${total} ${what} since ${new Date(from).toISOString()}${errorMax === 0 ? "" : `; no count is off by more than ${errorMax}`}`,
  ];
  if (!complete)
    lines.push(
      "not all of that time is counted: more namespaces are at work than hitters.namespaces, or a worker is silent",
    );
  if (identifiers.length > 0) lines.push(hittersTable(identifiers, total));
  lines.push(`nobody else has more than ${othersAtMost}`);
  return lines.join("\n");
}

function hittersTable(identifiers: TopIdentifiersData["identifiers"], total: number): string {
  const share = (count: number) => `${((100 * count) / total).toFixed(1)} %`;
  return tableOf(
    ["identifier", "at least", "at most", "share"],
    identifiers.map((one) => [one.identifier, String(one.atLeast), String(one.atMost), share(one.atMost)]),
  );
}
