/**
 * The parts of a key (workspace, namespace, identifier): what is a legal one.
 *
 * Ill-formed Unicode is refused because it has no faithful form outside this process: every lone surrogate becomes the
 * same U+FFFD in UTF-8, and two keys would become one in Redis or SQL.
 */
import { PART_LENGTH_MAX } from "./bounds.ts";
import { type ErrorCode, SluiceError } from "./errors.ts";

export type PartName = "workspace" | "namespace" | "identifier";

const CODE: Readonly<Record<PartName, ErrorCode>> = {
  workspace: "RL_WORKSPACE_INVALID",
  namespace: "RL_NAMESPACE_INVALID",
  identifier: "RL_IDENTIFIER_INVALID",
};

export function isPart(value: unknown): value is string {
  if (typeof value !== "string" || value.length === 0 || !value.isWellFormed()) return false;
  // Two UTF-16 units make at most one character: only a text between the two bounds needs counting.
  return (
    value.length <= PART_LENGTH_MAX || (value.length <= 2 * PART_LENGTH_MAX && characters(value) <= PART_LENGTH_MAX)
  );
}

export function checkPart(value: unknown, name: PartName): asserts value is string {
  if (!isPart(value)) throw new SluiceError(CODE[name], name, value);
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** A slice shorter than this is always a copy of its own. */
const SLICE_LENGTH_MIN = 13;

/** The same text as a string of its own: one that was cut from a larger text may keep all of that alive. */
export function detach(text: string): string {
  return text.length < SLICE_LENGTH_MIN ? text : (JSON.parse(JSON.stringify(text)) as string);
}
