/**
 * The scripts: their texts, their hashes, and what they answer.
 *
 * An answer begins with the mark that its command carried. One that does not is the answer to something else: a byte was lost
 * or came twice on this connection, and nothing that arrives on it can be believed any more.
 */
import { createHash } from "node:crypto";
import type { OriginCount } from "../origin.ts";
import { failureOf, RedisFailure, type RedisFailureKind } from "./failure.ts";
import raiseText from "./scripts/raise.lua";
import readText from "./scripts/read.lua";

export interface Script {
  readonly text: string;
  readonly hash: string;
}

function scriptOf(text: string): Script {
  return { text, hash: createHash("sha1").update(text).digest("hex") };
}

export const RAISE: Script = scriptOf(raiseText);
export const READ: Script = scriptOf(readText);

/** One script call: what to send, and how many cells it speaks of. */
export interface ScriptCall {
  readonly script: Script;
  readonly mark: string;
  readonly keys: readonly string[];
  /** What follows the mark. */
  readonly args: readonly string[];
}

export function commandOf({ script, mark, keys, args }: ScriptCall, isWhole: boolean): string[] {
  const name = isWhole ? ["EVAL", script.text] : ["EVALSHA", script.hash];
  return [...name, String(keys.length), ...keys, mark, ...args];
}

/** A cell of which nothing is known: the layer counts it, and leaves it as it was. */
export const UNKNOWN: OriginCount = { sum: Number.NaN, component: Number.NaN };

/** Trouble of one cell: the others of the same call are as good as ever. */
const OF_ONE_CELL: ReadonlySet<RedisFailureKind> = new Set(["wrongtype", "junk"]);

/**
 * The counts of an answer, in the order of the keys.
 *
 * @throws RedisFailure if it is no answer to this call, or says that Redis as a whole refuses.
 */
export function countsOf(
  call: ScriptCall,
  answer: unknown,
  count: (failure: RedisFailure) => void,
): readonly OriginCount[] {
  if (!Array.isArray(answer) || answer.length !== 1 + 2 * call.keys.length || answer[0] !== call.mark) {
    throw new RedisFailure("junk", "a reply that does not match its command: the connection is out of sync");
  }
  return call.keys.map((_, i) => {
    const [sum, component] = [numberOf(answer[2 * i + 1]), numberOf(answer[2 * i + 2])];
    if (sum >= component && component >= 0) return { sum, component };
    const failure = failureOfCell(answer[2 * i + 1]);
    if (!OF_ONE_CELL.has(failure.kind)) throw failure;
    count(failure);
    return UNKNOWN;
  });
}

const DIGITS = /^\d{1,16}$/;

/** An integer that can be exact, or NaN. */
function numberOf(value: unknown): number {
  const number = typeof value === "string" && DIGITS.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : Number.NaN;
}

const ERROR_REPLY = /^[A-Z]{2,}\b/;

function failureOfCell(text: unknown): RedisFailure {
  if (typeof text === "string" && ERROR_REPLY.test(text)) return failureOf(new Error(text));
  return new RedisFailure("junk", `an invalid count: ${String(text).slice(0, 40)}`);
}
