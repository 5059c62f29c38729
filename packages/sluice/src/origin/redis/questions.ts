/**
 * What the origin asks Redis: for each of the port's three calls its script, the keys and arguments of one cell or key, and how an
 * answer is read.
 */
import type { Admit, Admitted, CellName, OriginCount, Raise, Read } from "../origin.ts";
import { componentField, type RedisCellNames } from "./cell.ts";
import type { RedisFailure } from "./failure.ts";
import { checkAnswer, countAt, failureOfCell, type Script, scriptOf, UNKNOWN } from "./script.ts";
import admitText from "./scripts/admit.lua";
import raiseText from "./scripts/raise.lua";
import readText from "./scripts/read.lua";

export interface Question<Cell extends CellName, Answer> {
  readonly script: Script;
  /** How many of them one command carries at most: its overhead is then small, and Redis is not held up for long. */
  readonly perCommand: number;
  /** The Redis keys of one of them. All have the same hash tag. */
  keysOf(cell: Cell, names: RedisCellNames): readonly string[];
  addArgs(cell: Cell, args: string[]): void;
  /**
   * The answers to these, in order. Calls `count` for trouble of one of them.
   *
   * @throws RedisFailure if it is not an answer to the command with this mark, or says that Redis as a whole refuses.
   */
  answersOf(cells: readonly Cell[], answer: unknown, mark: string, count: (failure: RedisFailure) => void): Answer[];
  /** Nothing is known of it. */
  readonly unknown: Answer;
  /** Which of two answers about one cell holds, where it is on several servers. */
  least(one: Answer, other: Answer): Answer;
}

const CELLS_PER_COMMAND = 64;
/** Each has two cells, and writes. */
const ADMITS_PER_COMMAND = 32;

function ofCells<Cell extends CellName>(
  text: string,
  addArgs: (cell: Cell, args: string[]) => void,
): Question<Cell, OriginCount> {
  return {
    script: scriptOf(text),
    perCommand: CELLS_PER_COMMAND,
    keysOf: ({ key, sequence }, names) => [names.of(key, sequence)],
    addArgs,
    answersOf: (cells, answer, mark, count) => {
      checkAnswer(answer, mark, 2 * cells.length);
      return cells.map((_, i) => {
        const known = countAt(answer, 1 + 2 * i);
        if (known === UNKNOWN) count(failureOfCell(answer[1 + 2 * i]));
        return known;
      });
    },
    unknown: UNKNOWN,
    // A loss anywhere shows, and so does silence.
    least: (one, other) => (other.sum < one.sum || Number.isNaN(other.sum) ? other : one),
  };
}

export const READ: Question<Read, OriginCount> = ofCells(readText, ({ writer }, args) => {
  args.push(componentField(writer));
});

export const RAISE: Question<Raise, OriginCount> = ofCells(raiseText, ({ writer, total, expiresAtMs }, args) => {
  args.push(componentField(writer), String(total), String(Math.ceil(expiresAtMs)));
});

const NOT_ADMITTED: Admitted = { allowed: null, current: UNKNOWN, previous: UNKNOWN };
const REPEATED = "repeated";

export const ADMIT: Question<Admit, Admitted> = {
  script: scriptOf(admitText),
  perCommand: ADMITS_PER_COMMAND,
  keysOf: ({ key, sequence }, names) => names.both(key, sequence),
  addArgs: (admit, args) => {
    const { expiresAtMs, previousExpiresAtMs, requests } = admit;
    args.push(
      componentField(admit.writer),
      String(admit.total),
      String(admit.previousTotal),
      String(Math.ceil(expiresAtMs)),
      String(Math.ceil(previousExpiresAtMs)),
      String(admit.foreign),
      String(admit.previousForeign),
      String(admit.leftMs),
      String(admit.durationMs),
      String(requests.length),
    );
    for (const { limit, cost } of requests) args.push(String(limit), String(cost));
  },
  answersOf: (admits, answer, mark, count) => {
    checkAnswer(answer, mark, 5 * admits.length);
    return admits.map(({ requests }, i) => {
      const digits = answer[1 + 5 * i];
      const allowed = digits === REPEATED ? null : allowedOf(digits, requests.length);
      const [current, previous] = [countAt(answer, 2 + 5 * i), countAt(answer, 4 + 5 * i)];
      if (allowed !== undefined && current !== UNKNOWN && previous !== UNKNOWN) return { allowed, current, previous };
      count(failureOfCell(digits));
      return NOT_ADMITTED;
    });
  },
  unknown: NOT_ADMITTED,
  least: (_, other) => other,
};

/** Which requests were counted, by one digit each; undefined if it is something else. */
function allowedOf(digits: unknown, requests: number): boolean[] | undefined {
  if (typeof digits !== "string" || digits.length !== requests || /[^01]/.test(digits)) return undefined;
  return Array.from(digits, (digit) => digit === "1");
}
