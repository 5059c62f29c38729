/**
 * What the origin asks Redis: for each of the port's three calls its script, the keys and arguments of one cell or key, and how an
 * answer is read.
 */
import type { Admit, Admitted, CellName, OriginCount, Raise, Read } from "../origin.ts";
import { componentField, type RedisCellNames } from "./cell.ts";
import type { RedisFailure } from "./failure.ts";
import { checkAnswer, countAt, failureOfCell, type Script, scriptOf, UNKNOWN, withHolds } from "./script.ts";
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

/** `width`: values per cell in the answer. A third one tells of the key's holds. */
function ofCells<Cell extends CellName>(
  text: string,
  width: 2 | 3,
  addArgs: (cell: Cell, args: string[]) => void,
): Question<Cell, OriginCount> {
  return {
    script: scriptOf(text),
    perCommand: CELLS_PER_COMMAND,
    keysOf: ({ key, sequence }, names) => [names.of(key, sequence)],
    addArgs,
    answersOf: (cells, answer, mark, count) => {
      checkAnswer(answer, mark, width * cells.length);
      return cells.map((_, i) => {
        const at = 1 + width * i;
        const known = countAt(answer, at);
        if (known === UNKNOWN) count(failureOfCell(answer[at]));
        return width === 3 ? withHolds(known, answer[at + 2]) : known;
      });
    },
    unknown: UNKNOWN,
    // A loss anywhere shows, and so does silence.
    least: (one, other) => (other.sum < one.sum || Number.isNaN(other.sum) ? other : one),
  };
}

export const READ: Question<Read, OriginCount> = ofCells(readText, 2, ({ writer }, args) => {
  args.push(componentField(writer));
});

/** The holds of a key: a hash that has a sum, as a cell has, and the number of the holds in the place of a component. */
export const READ_HOLDS: Question<Read, OriginCount> = {
  ...ofCells<Read>(readText, 2, (_, args) => {
    args.push("n");
  }),
  keysOf: ({ key }, names) => [names.holds(key)],
};

export const RAISE: Question<Raise, OriginCount> = ofCells(raiseText, 3, ({ writer, total, expiresAtMs }, args) => {
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
    checkAnswer(answer, mark, 6 * admits.length);
    return admits.map(({ requests }, i) => {
      const digits = answer[1 + 6 * i];
      const allowed = digits === REPEATED ? null : allowedOf(digits, requests.length);
      const [current, previous] = [countAt(answer, 2 + 6 * i), countAt(answer, 4 + 6 * i)];
      if (allowed !== undefined && current !== UNKNOWN && previous !== UNKNOWN) {
        return { allowed, current: withHolds(current, answer[6 + 6 * i]), previous };
      }
      count(failureOfCell(digits));
      return NOT_ADMITTED;
    });
  },
  unknown: NOT_ADMITTED,
  least: (_, other) => other,
};

/** Which requests were counted, by one digit each; undefined if it is something else. */
function allowedOf(digits: unknown, requests: number): boolean[] | undefined {
  if (typeof digits !== "string" || digits.length !== requests) return undefined;
  const allowed: boolean[] = [];
  for (let i = 0; i < requests; i++) {
    const digit = digits[i];
    if (digit !== "0" && digit !== "1") return undefined;
    allowed.push(digit === "1");
  }
  return allowed;
}
