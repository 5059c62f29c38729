/** `sluice limit`, `sluice charge` and `sluice inspect`: one question to a running server. */
import type { Command } from "commander";
import type { ChargeData, InspectData, LimitData } from "../contract/schemas.ts";
import type { Console } from "../terminal/console.ts";
import { safeLine } from "../terminal/safe-text.ts";
import { exactSpan, span } from "../text/figures.ts";
import { clientCommand } from "./client-command.ts";
import type { CommandInput, CommandOutcome, Flag } from "./command-flags.ts";
import { EXIT } from "./exit-codes.ts";
import { ASKED_LIMIT, COST, DURATION, LIMIT, needed } from "./rule-flags.ts";

export function limitCommand(console: Console, exit: (code: number) => void): Command {
  return clientCommand(console, {
    name: "limit",
    description: "Check whether a request is allowed, and count it if so. Exits with 0 if allowed, 3 if denied.",
    args: ["<namespace>", "<identifier>"],
    flags: [needed(ASKED_LIMIT), needed(DURATION), COST],
    run: async (client, given) => {
      const data = await client.ask<LimitData>("limit", bodyOf(given));
      exit(data.success ? EXIT.ok : EXIT.denied);
      return { json: data, text: limitText(data, costOf(given)) };
    },
  });
}

export function chargeCommand(console: Console, exit: (code: number) => void): Command {
  return clientCommand(console, {
    name: "charge",
    description:
      "Count a cost that is known after the work, whether it fits or not. Exits with 0 if still within the limit, 3 if above.",
    args: ["<namespace>", "<identifier>"],
    flags: [
      needed(ASKED_LIMIT),
      needed(DURATION),
      { ...COST, help: "the cost of the work that was done; 0 only reads" },
    ],
    run: async (client, given) => {
      const data = await client.ask<ChargeData>("charge", bodyOf(given));
      exit(data.success ? EXIT.ok : EXIT.denied);
      return { json: data, text: chargeText(data) };
    },
  });
}

export function inspectCommand(console: Console): Command {
  return clientCommand(console, {
    name: "inspect",
    description: "Explain how a request would be decided, and from which counts. Counts nothing.",
    args: ["<namespace>", "<identifier>"],
    flags: [ofNoOverride(LIMIT), ofNoOverride(DURATION), COST],
    run: async (client, given) =>
      inspectOutcome(await client.ask<InspectData>("inspect", bodyOf(given)), costOf(given)),
  });
}

function bodyOf({ args: [namespace, identifier], flags }: CommandInput): object {
  return { namespace, identifier, ...flags };
}

function costOf({ flags }: CommandInput): number {
  return (flags["cost"] as number | undefined) ?? 1;
}

/** An override that holds for the identifier says both. */
function ofNoOverride(flag: Flag): Flag {
  return { ...flag, help: `${flag.help}; required unless an override sets it` };
}

function limitText(
  { success, limit, remaining, reset, overrideId, shadowed, degraded }: LimitData,
  cost: number,
): string {
  const by = overrideId === undefined ? "" : `, by override ${overrideId}`;
  const shadow = shadowed === true ? "; it would have been denied, but shadow mode never denies" : "";
  const guess = degraded
    ? "; degraded: a store was unavailable, the other regions were not read yet, or the cell table was full"
    : "";
  const at = new Date(reset).toISOString();
  if (success) return `allowed: ${remaining} of ${limit} left in the window that ends at ${at}${by}${shadow}${guess}`;
  const when = cost > limit ? `a cost of ${cost} never fits` : `try again at ${at}`;
  return `denied: the limit is ${limit}${by}; ${when}${guess}`;
}

function chargeText({ limit, current, remaining, over, reset, reason, overrideId, shadowed }: ChargeData): string {
  const by = overrideId === undefined ? "" : `, by override ${overrideId}`;
  const at = new Date(reset).toISOString();
  if (reason === "full") return `not counted: the server has no memory for another key${by}`;
  const shadow = shadowed === true ? "; shadow mode never denies" : "";
  if (over === 0)
    return `charged: ${current} of ${limit} used, ${remaining} left in the window that ends at ${at}${by}`;
  return `charged: ${current} of ${limit} used, ${over} above the limit until ${at}${by}${shadow}`;
}

function inspectOutcome(data: InspectData, cost: number): CommandOutcome {
  const { rule, override, decision, current, previous, effective, previousShare, leftMs } = data;
  const by =
    override === null ? "from the request" : `by override ${override.overrideId} (${safeLine(override.identifier)})`;
  const line = (name: string, cell: InspectData["current"]) =>
    `${name.padEnd(9)} ${cell.view} = own ${cell.own} + others ${cell.others} + foreign ${cell.foreign}`;
  const lines = [
    decision.explanation,
    `rule      ${rule.limit} in ${exactSpan(rule.duration)}, ${by}${rule.shadow ? ", shadow mode" : ""}`,
    line("current", current),
    line("previous", previous),
    `effective ${effective} = ${current.view} + ${previousShare} of the previous window, which counts for another ${span(Math.ceil(leftMs / 1_000) * 1_000)}`,
    `left      ${Math.max(0, rule.limit - effective)}; ${decision.remaining} after this request of cost ${cost}`,
  ];
  return { json: data, text: lines.join("\n") };
}
