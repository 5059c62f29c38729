/** The flags that say what is limited, and how: the same in every command that asks a server. */
import { integerWithin, wholeSpanWithin } from "../input/readings.ts";
import type { Flag } from "./command-flags.ts";

const COUNT_MAX = 2 ** 40;
const DURATION_MAX_MS = 2_592_000_000;

export const LIMIT: Flag = {
  name: "limit",
  value: "<n>",
  help: "the limit: maximum cost per window",
  rule: `an integer from 0 to ${COUNT_MAX}`,
  read: integerWithin(0, COUNT_MAX),
};

/** What a request may ask for: a ban is an override's. */
export const ASKED_LIMIT: Flag = {
  ...LIMIT,
  rule: `an integer from 1 to ${COUNT_MAX}`,
  read: integerWithin(1, COUNT_MAX),
  hint: () => "to ban an identifier, use sluice overrides set NAMESPACE IDENTIFIER --limit 0 --duration 1h",
};

export const DURATION: Flag = {
  name: "duration",
  value: "<time>",
  help: "the window: milliseconds, or a number with a unit: 10s, 5m, 1h, 1d",
  rule: "from 1s to 30d",
  read: wholeSpanWithin(1_000, DURATION_MAX_MS),
};

export const COST: Flag = {
  name: "cost",
  value: "<n>",
  help: "the cost of this request; 0 only reads",
  rule: `an integer from 0 to ${COUNT_MAX}`,
  read: integerWithin(0, COUNT_MAX),
};

export const SHADOW: Flag = {
  name: "shadow",
  value: "",
  help: "shadow mode: count and report, never deny",
  rule: "no value",
  read: (value) => value === true,
};

export function needed(flag: Flag): Flag {
  return { ...flag, isNeeded: true };
}
