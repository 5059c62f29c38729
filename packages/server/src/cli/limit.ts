/** `sluice limit` and `sluice inspect`: one question to a running server. */
import type { Command } from "commander";
import type { InspectData, LimitData } from "../http/schemas.ts";
import { clientCommand } from "./client-command.ts";
import type { Given, Outcome } from "./command-flags.ts";
import type { Console } from "./console.ts";
import { EXIT } from "./exit-codes.ts";
import { COST, DURATION, LIMIT, needed } from "./rule-flags.ts";

export function limitCommand(console: Console, exit: (code: number) => void): Command {
  return clientCommand(console, {
    name: "limit",
    description: "Ask whether a request may go on, and count it if so. Ends with 0 if allowed, 3 if denied.",
    args: ["<namespace>", "<identifier>"],
    flags: [needed(LIMIT), needed(DURATION), COST],
    run: async (client, given) => {
      const data = await client.ask<LimitData>("limit", bodyOf(given));
      exit(data.success ? EXIT.ok : EXIT.denied);
      return { json: data, text: limitText(data) };
    },
  });
}

export function inspectCommand(console: Console): Command {
  return clientCommand(console, {
    name: "inspect",
    description: "Explain what a request would be answered, and from which counts. Counts nothing.",
    args: ["<namespace>", "<identifier>"],
    flags: [LIMIT, DURATION, COST],
    run: async (client, given) => inspectOutcome(await client.ask<InspectData>("inspect", bodyOf(given))),
  });
}

function bodyOf({ args: [namespace, identifier], flags }: Given): object {
  return { namespace, identifier, ...flags };
}

function limitText({ success, limit, remaining, reset, overrideId, shadowed }: LimitData): string {
  const by = overrideId === undefined ? "" : `, by override ${overrideId}`;
  const shadow = shadowed === true ? "; it would have been denied, but is only watched" : "";
  const at = new Date(reset).toISOString();
  return success
    ? `allowed: ${remaining} of ${limit} left in the window that ends at ${at}${by}${shadow}`
    : `denied: the limit is ${limit}${by}; try again at ${at}`;
}

function inspectOutcome(data: InspectData): Outcome {
  const { rule, override, decision, current, previous, effective, previousShare, leftMs } = data;
  const by = override === null ? "as asked" : `by override ${override.overrideId} (${override.identifier})`;
  const cell = (name: string, one: InspectData["current"]) =>
    `${name.padEnd(9)} ${one.view} = own ${one.own} + others ${one.others} + foreign ${one.foreign}`;
  const lines = [
    decision.explanation,
    `rule      ${rule.limit} in ${rule.duration} ms, ${by}${rule.shadow ? ", only watched" : ""}`,
    cell("current", current),
    cell("previous", previous),
    `effective ${effective} = ${current.view} + ${previousShare} of the previous window, which counts for another ${leftMs} ms`,
    `left      ${decision.remaining}`,
  ];
  return { json: data, text: lines.join("\n") };
}
