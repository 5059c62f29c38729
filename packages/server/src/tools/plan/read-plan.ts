/** From flags and a file to a plan: flags win over the file, the file over the defaults; then what the fields say together. */
import { InputError } from "../../input/input-error.ts";
import { FIELDS, type Field } from "./fields.ts";
import type { Plan, PlanName } from "./plan.ts";
import { requestsOf } from "./plan.ts";

/** The values as they were given, by name. */
export interface PlanInput {
  readonly flags: ReadonlyMap<string, unknown>;
  readonly file?: { readonly path: string; readonly values: ReadonlyMap<string, unknown> };
}

/** More processes or requests than this do not fit into a sitting, nor the requests into memory. */
const PROCESSES_MAX = 1_000;
const REQUESTS_MAX = 20_000_000;

/** What the attack asks of all regions together: enough that the limit is passed, too little for any region to see it. */
const ATTACK_LOAD = 1.9;
/** With two regions that would be 0.95 of the limit in each, and chance would reach it. */
const ATTACK_LOAD_PER_REGION = 0.9;

export function readPlan(given: PlanInput): Plan {
  const plan = Object.fromEntries(FIELDS.map((field) => [field.name, readField(field, given)])) as unknown as Plan;
  const attacking = plan.attack === "none" ? plan : attackOf(plan, given);
  checkTogether(attacking, given);
  return attacking;
}

/** Whether a person chose the value, rather than the default. */
export function isGiven(name: PlanName, { flags, file }: PlanInput): boolean {
  return flags.has(name) || file?.values.has(name) === true;
}

/** How a field is called where its value comes from. */
function placeOf(name: PlanName, { flags, file }: PlanInput): string {
  return file !== undefined && !flags.has(name) && file.values.has(name) ? `${name} in ${file.path}` : `--${name}`;
}

function givenOf(name: PlanName, { flags, file }: PlanInput): unknown {
  return flags.has(name) ? flags.get(name) : file?.values.get(name);
}

/** A value in the file must be right though a flag wins over it: the next run may be without that flag. */
function readField(field: Field, given: PlanInput): Plan[PlanName] {
  const { name, rule, read, initial, hint } = field;
  const { file, flags } = given;
  const readFrom = (values: ReadonlyMap<string, unknown>, place: string, otherwise: Plan[PlanName]) => {
    if (!values.has(name)) return otherwise;
    const value = values.get(name);
    const known = read(value);
    if (known === undefined) throw InputError.of({ field: place, rule, value, hint: hint(value) });
    return known;
  };
  const inFile = file === undefined ? initial : readFrom(file.values, `${name} in ${file.path}`, initial);
  return readFrom(flags, `--${name}`, inFile);
}

function attackOf(plan: Plan, given: PlanInput): Plan {
  if (plan.regions < 2) {
    const rule = "2 or more with --attack even-spread";
    const hint = "traffic of one region cannot be spread over regions";
    throw InputError.of({ field: placeOf("regions", given), rule, value: plan.regions, hint });
  }
  if (plan.shape !== "even") {
    const hint = "this attack sends the same load to every region: remove --shape";
    throw InputError.of({
      field: placeOf("shape", given),
      rule: "even with --attack even-spread",
      value: plan.shape,
      hint,
    });
  }
  if (isGiven("load", given)) return plan;
  return { ...plan, load: Math.min(ATTACK_LOAD, ATTACK_LOAD_PER_REGION * plan.regions) };
}

function checkTogether(plan: Plan, given: PlanInput): void {
  const refuse = (name: PlanName, rule: string, value: unknown, hint: string): never => {
    throw InputError.of({ field: placeOf(name, given), rule, value, hint });
  };
  const { regions, processes } = plan;
  for (const name of ["publish", "import"] as const) {
    if (plan[name] <= plan["global-min"]) continue;
    const rule = `from 100ms to --global-min (${plan["global-min"]}ms)`;
    refuse(
      name,
      rule,
      givenOf(name, given),
      "a longer interval than the shortest window would send counts of expired windows",
    );
  }
  if (regions * processes > PROCESSES_MAX) {
    const rule = `at most ${Math.floor(PROCESSES_MAX / regions)} with ${regions} regions (${PROCESSES_MAX} processes in all)`;
    refuse("processes", rule, processes, "simulate fewer processes: the result is similar");
  }
  const requests = requestsOf(plan);
  if (requests > REQUESTS_MAX) {
    const name = isGiven("windows", given) && !isGiven("limit", given) ? "windows" : "limit";
    const rule = `so small that the plan makes at most ${REQUESTS_MAX} requests (load × limit × windows)`;
    refuse(
      name,
      `${rule}, not ${requests}`,
      plan[name],
      "a tenth of the limit at the same --load gives a similar result",
    );
  }
  const global = plan.faults.kinds.find((kind) => kind.startsWith("global"));
  if (regions === 1 && global !== undefined && !plan.faults.text.split(",").includes("all")) {
    refuse(
      "faults",
      "without global faults if there is one region",
      plan.faults.text,
      "add --regions 2, or remove them",
    );
  }
}
