/**
 * The checker: reads a history line by line, keeps the truth, and says what is wrong as soon as it is.
 *
 * The first problem is kept; a world that has one is stopped. It never throws: it is called from inside a limiter's trace.
 */
import type { HistoryLine } from "../model/history.ts";
import { Admission } from "./admission.ts";
import { Excess } from "./excess.ts";
import { Freshness } from "./freshness.ts";
import { Honesty } from "./honesty.ts";
import { Join } from "./join.ts";
import { LowerBound } from "./lower-bound.ts";
import { type MarkCounts, Marks } from "./marks.ts";
import { Memory } from "./memory.ts";
import type { CheckerPart } from "./part.ts";
import { Sanity } from "./sanity.ts";
import { Settlement } from "./settlement.ts";
import { StrictTotal } from "./strict-total.ts";
import { Truth } from "./truth.ts";

export class Checker {
  readonly truth: Truth = new Truth();
  readonly lowerBound: LowerBound = new LowerBound();
  readonly freshness: Freshness = new Freshness();
  readonly excess: Excess = new Excess();
  readonly settlement: Settlement = new Settlement();
  readonly join: Join = new Join();
  readonly #marks = new Marks();
  /** The first thing found wrong. */
  problem: string | undefined;
  decisions = 0;
  readonly #parts: readonly CheckerPart[] = [
    new Sanity(),
    this.lowerBound,
    new Memory(),
    this.join,
    new Honesty(),
    new Admission(),
    this.freshness,
    this.excess,
    new StrictTotal(),
    this.settlement,
    this.#marks,
  ];

  /** How often each situation that a campaign must meet was met. */
  get marks(): MarkCounts {
    const { overHalf, overHalfCalm } = this.excess;
    return {
      ...this.#marks.counts,
      "excess-above-half-of-E": overHalf,
      "excess-above-half-of-E-in-calm": overHalfCalm,
    };
  }

  observe(line: HistoryLine): void {
    if (this.problem !== undefined) return;
    if (line.event.kind === "decision") this.decisions++;
    for (const part of this.#parts) {
      const problem = part.check(line, this.truth);
      if (problem !== undefined) {
        this.problem = `${problem} (${line.process}, world time ${line.atMs})`;
        return;
      }
    }
    this.truth.apply(line);
  }
}
