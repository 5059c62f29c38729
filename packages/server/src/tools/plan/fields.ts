/**
 * Every field of a plan: one table that the flags, the file, the help and the checks are made from.
 *
 * A field's name is its flag (`--limit`) and its key in a file (`limit`). The bounds of what Sluice itself takes are the
 * library's (docs/errors.md); the others keep a plan to what can be simulated in a sitting.
 */

import { nearest } from "sluice/internal";
import { shown } from "../../input/input-error.ts";
import {
  integerWithin,
  numberWithin,
  oneOf,
  type ReadValue,
  spanWithin,
  wholeSpanWithin,
} from "../../input/readings.ts";
import { FAULT_GROUP_NAMES, faultHint, readFaults } from "./fault-plan.ts";
import type { Attack, Mode, Plan, PlanName, Shape } from "./plan.ts";

export interface Field<Name extends PlanName = PlanName> {
  readonly name: Name;
  /** How the help shows its value: `<n>`. */
  readonly value: string;
  readonly help: string;
  /** What must hold, in words: `an integer from 1 to 100`. */
  readonly rule: string;
  readonly read: ReadValue<Plan[Name]>;
  readonly initial: Plan[Name];
  /** `initial`, as it would be typed. */
  readonly initialText: string;
  readonly hint: (value: unknown) => string;
}

const SHAPES: readonly Shape[] = ["even", "one", "burst", "steady", "herd"];
const MODES: readonly Mode[] = ["counters", "denials", "both"];
const ATTACKS: readonly Attack[] = ["none", "even-spread"];
const DAY_MS = 86_400_000;

function field<Name extends PlanName>(
  name: Name,
  { initialText, ...rest }: Omit<Field<Name>, "name" | "initial">,
): Field<Name> {
  const initial = rest.read(initialText);
  if (initial === undefined) throw new Error(`the default of ${name} is not allowed`);
  return { name, initial, initialText, ...rest };
}

function always(hint: string): () => string {
  return () => hint;
}

function choiceHint(choices: readonly string[]): (value: unknown) => string {
  return (value) => {
    const near = nearest(String(value), choices);
    return near === undefined ? `choose one of ${choices.join(", ")}` : `did you mean ${near}?`;
  };
}

/** The usual slips with a number: a unit, a sign, thousands with commas. */
function countHint(example: string): (value: unknown) => string {
  return (value) =>
    typeof value === "string" && /^\d/.test(value) && !/^\d+$/.test(value)
      ? `write ${shown(value)} in plain digits, such as ${example}`
      : `such as ${example}`;
}

const FLOOR_AUTO = "auto";
const FLOOR = numberWithin(0, 1);

export const FIELDS: readonly Field[] = [
  field("regions", {
    value: "<n>",
    help: "regions, each with its own origin (Redis)",
    rule: "an integer from 1 to 100",
    read: integerWithin(1, 100),
    initialText: "3",
    hint: countHint("3"),
  }),
  field("processes", {
    value: "<n>",
    help: "processes in each region",
    rule: "an integer from 1 to 100",
    read: integerWithin(1, 100),
    initialText: "2",
    hint: countHint("4"),
  }),
  field("limit", {
    value: "<n>",
    help: "the limit of the key: maximum cost per window",
    rule: "an integer from 1 to 10000000",
    read: integerWithin(1, 10_000_000),
    initialText: "1000",
    hint: countHint("1000"),
  }),
  field("duration", {
    value: "<time>",
    help: "the length of a window",
    rule: "whole milliseconds from 1s to 30d",
    read: wholeSpanWithin(1_000, 30 * DAY_MS),
    initialText: "1m",
    hint: always('milliseconds, or a number with a unit: "10s", "5m", "1h", "1d"'),
  }),
  field("load", {
    value: "<x>",
    help: "the total load of all regions, as a multiple of the limit",
    rule: "a number from 0.01 to 100",
    read: numberWithin(0.01, 100),
    initialText: "2",
    hint: always("1 is exactly the limit, 3 is three times the limit"),
  }),
  field("shape", {
    value: "<shape>",
    help: "even: all regions in turn; one: nearly all in one region; burst: many at once at one process; steady: independent arrivals everywhere; herd: all at the start of a window",
    rule: `one of ${SHAPES.join(", ")}`,
    read: oneOf(SHAPES),
    initialText: "even",
    hint: choiceHint(SHAPES),
  }),
  field("mode", {
    value: "<mode>",
    help: "what regions exchange",
    rule: `one of ${MODES.join(", ")}`,
    read: oneOf(MODES),
    initialText: "counters",
    hint: choiceHint(MODES),
  }),
  field("flush", {
    value: "<time>",
    help: "how often a process replays to its origin",
    rule: "from 5ms to 1s",
    read: spanWithin(5, 1_000),
    initialText: "50ms",
    hint: always("the default of the library is 50ms"),
  }),
  field("publish", {
    value: "<time>",
    help: "how often a process publishes its region's counts",
    rule: "from 100ms to --global-min",
    read: spanWithin(100, 30 * DAY_MS),
    initialText: "1s",
    hint: always("the default of the library is 1s"),
  }),
  field("import", {
    value: "<time>",
    help: "how often a process imports the other regions' counts",
    rule: "from 100ms to --global-min",
    read: spanWithin(100, 30 * DAY_MS),
    initialText: "1s",
    hint: always("the default of the library is 1s"),
  }),
  field("floor", {
    value: "<part>",
    help: "the fraction of the limit below which a region does not publish its count; auto follows the number of regions",
    rule: "a number from 0 to 1, or auto",
    read: (value) => (value === FLOOR_AUTO ? null : FLOOR(value)),
    initialText: FLOOR_AUTO,
    hint: always("0.01 is one per cent of the limit"),
  }),
  field("global-min", {
    value: "<time>",
    help: "windows shorter than this stay regional (the library's globalDurationMin)",
    rule: "from 1s to 30d",
    read: spanWithin(1_000, 30 * DAY_MS),
    initialText: "1m",
    hint: always("the default of the library is 1m"),
  }),
  field("origin-rtt", {
    value: "<time>",
    help: "the round trip to the origin, on average",
    rule: "from 0ms to 1s",
    read: spanWithin(0, 1_000),
    initialText: "1ms",
    hint: always("within a data centre about 1ms"),
  }),
  field("global-rtt", {
    value: "<time>",
    help: "the round trip to the global counters (SQL), on average",
    rule: "from 0ms to 2s",
    read: spanWithin(0, 2_000),
    initialText: "80ms",
    hint: always("across an ocean about 80ms"),
  }),
  field("faults", {
    value: "<list>",
    help: "the faults to inject, separated by commas",
    rule: `a list of ${FAULT_GROUP_NAMES.join(", ")} or single faults`,
    read: readFaults,
    initialText: "none",
    hint: faultHint,
  }),
  field("fault-every", {
    value: "<time>",
    help: "the mean time between two faults",
    rule: "from 100ms to 30d",
    read: spanWithin(100, 30 * DAY_MS),
    initialText: "10s",
    hint: always('milliseconds, or a number with a unit: "10s", "5m"'),
  }),
  field("windows", {
    value: "<n>",
    help: "how many windows to simulate",
    rule: "an integer from 1 to 10000",
    read: integerWithin(1, 10_000),
    initialText: "3",
    hint: countHint("3"),
  }),
  field("seed", {
    value: "<n>",
    help: "the seed of the random numbers; the same seed gives the same run",
    rule: "an integer from 0 to 4294967295",
    read: integerWithin(0, 2 ** 32 - 1),
    initialText: "1",
    hint: countHint("42"),
  }),
  field("attack", {
    value: "<name>",
    help: "even-spread: spreads the load so that no region alone reaches the limit; compares the modes unless --mode selects one",
    rule: `one of ${ATTACKS.join(", ")}`,
    read: oneOf(ATTACKS),
    initialText: "none",
    hint: choiceHint(ATTACKS),
  }),
] as readonly Field[];
