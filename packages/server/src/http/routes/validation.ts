/** Checks a body by its schema, and tells what is wrong by place: the rule that it breaks and the value that was there. */
import { Ajv, type ErrorObject } from "ajv";
import { nearest } from "sluice/internal";
import type { TSchema } from "typebox";
import { type Flaw, Problem } from "../../contract/problem.ts";
import { shown } from "../../input/input-error.ts";

const NAME_SHOWN_MAX = 60;
/** More would not help anyone. */
const FLAWS_MAX = 10;

/** What the schemas of this API add to a place. */
interface Place {
  readonly rule?: string;
  readonly properties?: object;
}

/** @throws Problem */
export type BodyCheck = (body: unknown) => void;

const ajv = new Ajv({ allErrors: true, verbose: true, keywords: ["rule"] });

export function bodyCheck(schema: TSchema): BodyCheck {
  const isLegal = ajv.compile(schema);
  const { maxItems = Number.POSITIVE_INFINITY } = schema as { readonly maxItems?: number };
  return (body) => {
    // Before all of them are looked at: a body has room for a hundred thousand items, each wrong in several ways.
    if (Array.isArray(body) && body.length > maxItems) {
      throw Problem.at("body", `must be ${String((schema as Place).rule)}; got an array of ${body.length}`);
    }
    if (!isLegal(body)) throw problemOfFindings(isLegal.errors ?? []);
  };
}

function problemOfFindings(findings: readonly ErrorObject[]): Problem {
  const flaws = findings.slice(0, FLAWS_MAX).map(flawOf);
  const [first] = flaws;
  const more = findings.length > 1 ? ` (and ${findings.length - 1} more)` : "";
  return new Problem("invalid_input", `${first?.location} ${first?.message}${more}`, { flaws });
}

function flawOf({ keyword, instancePath, params, parentSchema, data }: ErrorObject): Flaw {
  const { rule: ownRule, properties } = (parentSchema ?? {}) as Place;
  const at = locationOf(instancePath);
  if (keyword === "required") {
    return { location: `${at}.${String(params["missingProperty"])}`, message: "is missing" };
  }
  if (keyword === "additionalProperties") {
    const name = String(params["additionalProperty"]).slice(0, NAME_SHOWN_MAX);
    const known = Object.keys(properties ?? {});
    const meant = nearest(name, known);
    const fix = meant === undefined ? `fields are ${known.join(", ")}` : `did you mean ${meant}?`;
    return { location: `${at}.${name}`, message: "is not a field of this request", fix };
  }
  const rule = ownRule ?? (keyword === "type" ? `an ${String(params["type"])}` : keyword);
  return { location: at, message: `must be ${rule}; got ${gotOf(data)}` };
}

function gotOf(data: unknown): string {
  if (Array.isArray(data)) return `an array of ${data.length}`;
  return typeof data === "string" && data.length > 60 ? `a text of ${[...data].length} characters` : shown(data);
}

/** `/3/cost` is `body[3].cost`. */
function locationOf(instancePath: string): string {
  const parts = instancePath.split("/").slice(1);
  return parts.reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : `${path}.${part}`), "body");
}
