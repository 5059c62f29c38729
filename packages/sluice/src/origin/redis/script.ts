/**
 * The scripts: their texts, their hashes, how a call becomes a command, and how its answer is checked.
 *
 * An answer begins with the mark that its command carried. One that does not is the answer to something else: a byte was lost
 * or came twice on this connection, and nothing that arrives on it can be believed any more.
 */
import { createHash } from "node:crypto";
import type { OriginCount } from "../origin.ts";
import { failureOf, RedisFailure, type RedisFailureKind } from "./failure.ts";

export interface Script {
  readonly text: string;
  readonly hash: string;
}

export function scriptOf(text: string): Script {
  return { text, hash: createHash("sha1").update(text).digest("hex") };
}

/** One script call: what to send. */
export interface ScriptCall {
  readonly script: Script;
  readonly mark: string;
  readonly keys: readonly string[];
  /** What follows the mark. */
  readonly args: readonly string[];
}

export function commandOf({ script, mark, keys, args }: ScriptCall, isWhole: boolean): string[] {
  const name = isWhole ? "EVAL" : "EVALSHA";
  return [name, isWhole ? script.text : script.hash, String(keys.length), ...keys, mark, ...args];
}

/** A cell of which nothing is known: the layer counts it, and leaves it as it was. */
export const UNKNOWN: OriginCount = { sum: Number.NaN, component: Number.NaN };

/** @throws RedisFailure if it is not an answer of so many values to the command with this mark. */
export function checkAnswer(answer: unknown, mark: string, values: number): asserts answer is readonly unknown[] {
  if (afterMark(answer, mark).length === values) return;
  throw outOfSync();
}

/** What follows the mark of an answer of any length. */
export function afterMark(answer: unknown, mark: string): readonly unknown[] {
  if (Array.isArray(answer) && answer[0] === mark) return answer.slice(1);
  throw outOfSync();
}

function outOfSync(): RedisFailure {
  return new RedisFailure("junk", "a reply that does not match its command: the connection is out of sync");
}

/** Sum and component as an answer has them at `at`; UNKNOWN if they are not those of a cell. */
export function countAt(answer: readonly unknown[], at: number): OriginCount {
  const [sum, component] = [numberOf(answer[at]), numberOf(answer[at + 1])];
  return sum >= component && component >= 0 ? { sum, component } : UNKNOWN;
}

/** A count, with the living holds of its key as the field `h` of a cell has them: "version cost deadline". */
export function withHolds(count: OriginCount, text: unknown): OriginCount {
  if (typeof text !== "string" || text === "" || count === UNKNOWN) return count;
  const [version = Number.NaN, cost = Number.NaN, earliestMs = Number.NaN] = text.split(" ").map(numberOf);
  const isValid = ![version, cost, earliestMs].some(Number.isNaN);
  return isValid ? { ...count, holds: { cost, earliestMs, version } } : count;
}

const DIGITS = /^\d{1,16}$/;

/** An integer that can be exact, or NaN. */
export function numberOf(value: unknown): number {
  const number = typeof value === "string" && DIGITS.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : Number.NaN;
}

/** Trouble of one cell: the others of the same call are as good as ever. */
const OF_ONE_CELL: ReadonlySet<RedisFailureKind> = new Set(["wrongtype", "junk"]);
const ERROR_REPLY = /^[A-Z]{2,}\b/;

/**
 * What is wrong with one cell, by what an answer has in its place.
 *
 * @throws RedisFailure if Redis as a whole refuses.
 */
export function failureOfCell(text: unknown): RedisFailure {
  const isError = typeof text === "string" && ERROR_REPLY.test(text);
  const junk = () => new RedisFailure("junk", `an invalid count: ${String(text).slice(0, 40)}`);
  const failure = isError ? failureOf(new Error(text)) : junk();
  if (!OF_ONE_CELL.has(failure.kind)) throw failure;
  return failure;
}
