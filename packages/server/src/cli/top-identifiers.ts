/**
 * `sluice top-identifiers`: the identifiers with the most accepted cost, or the most denials, in a namespace of a running server.
 *
 * Its old name, `sluice hitters`, stays as an alias.
 */
import type { Command } from "commander";
import type { TopIdentifiersData } from "../contract/schemas.ts";
import { integerWithin, oneOf } from "../input/readings.ts";
import type { Console } from "../terminal/console.ts";
import { tableOf } from "../terminal/text-table.ts";
import { RANKED_BY } from "../top-identifiers/top-identifiers.ts";
import { clientCommand } from "./client-command.ts";
import type { Flag } from "./command-flags.ts";

const LIMIT_MAX = 100;

const BY: Flag = {
  name: "by",
  value: "<what>",
  help: "rank by accepted cost (use) or by denied checks (denials)",
  rule: RANKED_BY.join(" or "),
  read: oneOf(RANKED_BY),
};

const LIMIT: Flag = {
  name: "limit",
  value: "<n>",
  help: "the number of identifiers; default 10",
  rule: `an integer from 1 to ${LIMIT_MAX}`,
  read: integerWithin(1, LIMIT_MAX),
};

export function topIdentifiersCommand(console: Console): Command {
  const command = clientCommand(console, {
    name: "top-identifiers",
    description:
      "List the identifiers with the most accepted cost, or the most denials, in a namespace over the last five minutes.",
    args: ["<namespace>"],
    flags: [BY, LIMIT],
    run: async (client, { args: [namespace], flags }) => {
      const data = await client.ask<TopIdentifiersData>("topIdentifiers", { namespace, ...flags });
      return { json: data, text: textOf(data) };
    },
  });
  return command.alias("hitters");
}

function textOf(data: TopIdentifiersData): string {
  const { by, from, total, errorMax, complete, identifiers, othersAtMost } = data;
  const what = by === "use" ? "of accepted cost" : "denials";
  const lines = [
    `${total} ${what} since ${new Date(from).toISOString()}${errorMax === 0 ? "" : `; each count is accurate to within ${errorMax}`}`,
  ];
  if (!complete)
    lines.push("incomplete: more namespaces are active than hitters.namespaces, or a worker does not respond");
  if (identifiers.length > 0) lines.push(identifierTable(identifiers, total));
  lines.push(`every other identifier has at most ${othersAtMost}`);
  return lines.join("\n");
}

function identifierTable(identifiers: TopIdentifiersData["identifiers"], total: number): string {
  const share = (count: number) => `${((100 * count) / total).toFixed(1)} %`;
  return tableOf(
    ["identifier", "at least", "at most", "share"],
    identifiers.map(({ identifier, atLeast, atMost }) => [identifier, String(atLeast), String(atMost), share(atMost)]),
  );
}
