/**
 * The settings of convergence between processes and regions: the library's options, under the library's names.
 *
 * Bounds and defaults are the library's; test/server/convergence-settings.test.ts checks that they match.
 */
import type { GlobalMode, WhenFull } from "sluice";
import { integerWithin, numberWithin, oneOf, wholeSpanWithin } from "../input/readings.ts";
import { suggestion } from "./setting.ts";
import { optional, setting } from "./setting-row.ts";

const MODES: readonly GlobalMode[] = ["counters", "denials", "both"];
const WHEN_FULL: readonly WhenFull[] = ["allow", "deny"];
const DAY_MS = 86_400_000;
const TIME = 'milliseconds, or a number with a unit: "500ms", "2s"';

function chosen(choices: readonly string[]): (value: unknown) => string {
  return (value) => suggestion(String(value), choices, `choose one of ${choices.join(", ")}`);
}

export const CONVERGENCE_SETTINGS = {
  whenFull: setting({
    path: "whenFull",
    value: "<answer>",
    help: "the decision if a full table has no room for a key: allow without a record, or deny; both are flagged degraded",
    rule: `one of ${WHEN_FULL.join(", ")}`,
    read: oneOf(WHEN_FULL),
    initialText: "allow",
    hint: chosen(WHEN_FULL),
  }),
  flushMs: setting({
    path: "flushMs",
    value: "<time>",
    help: "how often accepted cost is replayed to the Redis of the region",
    rule: "whole milliseconds from 5ms to 1s",
    read: wholeSpanWithin(5, 1_000),
    initialText: "50ms",
    hint: TIME,
  }),
  readTimeoutMs: setting({
    path: "readTimeoutMs",
    value: "<time>",
    help: "maximum time that a request waits for Redis; after it, the request is decided from memory, and flagged degraded if allowed",
    rule: "whole milliseconds from 1ms to 300ms",
    read: wholeSpanWithin(1, 300),
    initialText: "300ms",
    hint: TIME,
  }),
  commandsPerSecond: setting({
    path: "commandsPerSecond",
    value: "<n>",
    help: "maximum cells that a worker replays to Redis per second; the others wait",
    rule: "an integer from 20 to 10000000",
    read: integerWithin(20, 10_000_000),
    initialText: "50000",
    hint: "such as 50000",
  }),
  globalMode: setting({
    path: "globalMode",
    value: "<mode>",
    help: "what regions exchange: their counts, only their denials, or both; use the same mode in all regions",
    rule: `one of ${MODES.join(", ")}`,
    read: oneOf(MODES),
    initialText: "counters",
    hint: chosen(MODES),
  }),
  globalDurationMin: setting({
    path: "globalDurationMin",
    value: "<time>",
    help: "counts of shorter windows stay in their region; denials are sent for windows of 1m or longer, whatever this is",
    rule: "whole milliseconds from 1s to 30d",
    read: wholeSpanWithin(1_000, 30 * DAY_MS),
    initialText: "1m",
    hint: TIME,
  }),
  publishMs: setting({
    path: "publishMs",
    value: "<time>",
    help: "how often a region publishes its counts; at most globalDurationMin",
    rule: "whole milliseconds from 100ms to 30d",
    read: wholeSpanWithin(100, 30 * DAY_MS),
    initialText: "1s",
    hint: TIME,
  }),
  importMs: setting({
    path: "importMs",
    value: "<time>",
    help: "how often a region imports the counts of the others; at most globalDurationMin",
    rule: "whole milliseconds from 100ms to 30d",
    read: wholeSpanWithin(100, 30 * DAY_MS),
    initialText: "1s",
    hint: TIME,
  }),
  floor: optional<number>(
    {
      path: "floor",
      value: "<part>",
      help: "the fraction of a limit up to which a region does not publish a count",
      rule: "a number from 0 to 1",
      read: numberWithin(0, 1),
      hint: "such as 0.01; by default it follows the number of live regions",
    },
    "by errorBudget and the number of live regions",
  ),
  errorBudget: setting({
    path: "errorBudget",
    value: "<part>",
    help: "the fraction of a limit by which all regions together may exceed it because of unpublished counts",
    rule: "a number above 0, up to 1",
    read: numberWithin(Number.MIN_VALUE, 1),
    initialText: "0.02",
    hint: "such as 0.02, which is 2 %",
  }),
  namespaceRowsMax: setting({
    path: "namespaceRowsMax",
    value: "<n>",
    help: "maximum rows of a namespace that a region keeps in the database, one per identifier and window; more are not published",
    rule: "an integer from 1 to 16000000",
    read: integerWithin(1, 16_000_000),
    initialText: "100000",
    hint: "such as 100000",
  }),
  workspaceRowsMax: setting({
    path: "workspaceRowsMax",
    value: "<n>",
    help: "maximum rows of a workspace that a region keeps in the database; more are not published",
    rule: "an integer from 1 to 16000000",
    read: integerWithin(1, 16_000_000),
    initialText: "200000",
    hint: "such as 200000",
  }),
  closeTimeoutMs: optional<number>(
    {
      path: "closeTimeoutMs",
      value: "<time>",
      help: "the part of shutdownTimeout for replaying and publishing the remaining counts; the rest is for requests in flight",
      rule: "whole milliseconds from 0 to 1m",
      read: wholeSpanWithin(0, 60_000),
      hint: TIME,
    },
    "half of shutdownTimeout",
  ),
} as const;
