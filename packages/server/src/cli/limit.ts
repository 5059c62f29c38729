/** `sluice limit` and `sluice inspect`: one question to a running server. */
import type { Command } from "commander";
import type { InspectData, LimitData } from "../contract/schemas.ts";
import type { Console } from "../terminal/console.ts";
import { safeLine } from "../terminal/safe-text.ts";
import { exactSpan, span } from "../text/figures.ts";
import { clientCommand } from "./client-command.ts";
import type { Flag, Given, Outcome } from "./command-flags.ts";
import { EXIT } from "./exit-codes.ts";
import { ASKED_LIMIT, COST, DURATION, LIMIT, needed } from "./rule-flags.ts";

export function limitCommand(console: Console, exit: (code: number) => void): Command {
  return clientCommand(console, {
    name: "limit",
    description: "Ask whether a request may go on, and count it if so. Ends with 0 if allowed, 3 if denied.",
    args: ["<namespace>", "<identifier>"],
    flags: [needed(ASKED_LIMIT), needed(DURATION), COST],
    run: async (client, given) => {
      const data = await client.ask<LimitData>("limit", bodyOf(given));
      exit(data.success ? EXIT.ok : EXIT.denied);
      return { json: data, text: limitText(data, costOf(given)) };
    },
  });
}

export function inspectCommand(console: Console): Command {
  return clientCommand(console, {
    name: "inspect",
    description: "Explain what a request would be answered, and from which counts. Counts nothing.",
    args: ["<namespace>", "<identifier>"],
    flags: [ofNoOverride(LIMIT), ofNoOverride(DURATION), COST],
    run: async (client, given) =>
      inspectOutcome(await client.ask<InspectData>("inspect", bodyOf(given)), costOf(given)),
  });
}

function bodyOf({ args: [namespace, identifier], flags }: Given): object {
  return { namespace, identifier, ...flags };
}

function costOf({ flags }: Given): number {
  return (flags["cost"] as number | undefined) ?? 1;
}

/** An override that holds for the identifier says both. */
function ofNoOverride(flag: Flag): Flag {
  return { ...flag, help: `${flag.help}; needed unless an override gives it` };
}

function limitText(
  { success, limit, remaining, reset, overrideId, shadowed, degraded }: LimitData,
  cost: number,
): string {
  const by = overrideId === undefined ? "" : `, by override ${overrideId}`;
  const shadow = shadowed === true ? "; it would have been denied, but is only watched" : "";
  const guess = degraded ? "; degraded: decided without a store, or without the other regions" : "";
  const at = new Date(reset).toISOString();
  if (success) return `allowed: ${remaining} of ${limit} left in the window that ends at ${at}${by}${shadow}${guess}`;
  const when = cost > limit ? `a cost of ${cost} never fits` : `try again at ${at}`;
  return `denied: the limit is ${limit}${by}; ${when}${guess}`;
}

function inspectOutcome(data: InspectData, cost: number): Outcome {
  const { rule, override, decision, current, previous, effective, previousShare, leftMs } = data;
  const by = override === null ? "as asked" : `by override ${override.overrideId} (${safeLine(override.identifier)})`;
  const cell = (name: string, one: InspectData["current"]) =>
    `${name.padEnd(9)} ${one.view} = own ${one.own} + others ${one.others} + foreign ${one.foreign}`;
  const lines = [
    decision.explanation,
    `rule      ${rule.limit} in ${exactSpan(rule.duration)}, ${by}${rule.shadow ? ", only watched" : ""}`,
    cell("current", current),
    cell("previous", previous),
    `effective ${effective} = ${current.view} + ${previousShare} of the previous window, which counts for another ${span(Math.ceil(leftMs / 1_000) * 1_000)}`,
    `left      ${Math.max(0, rule.limit - effective)}; ${decision.remaining} after this request of cost ${cost}`,
  ];
  return { json: data, text: lines.join("\n") };
}
