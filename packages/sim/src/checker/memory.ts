/**
 * The invariants "Monotone" and "Time": what a process knows of a cell never falls, and its sequence never goes back.
 *
 * A process may forget for two reasons only, and raises an alarm for both: its table was full (an eviction), or its clock
 * was set back by more than 5 s and it followed.
 */
import type { DecisionEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import { type CheckerPart, isOfOtherWindow, type Problem, placeOf } from "./part.ts";
import type { LifeTruth, Truth } from "./truth.ts";

interface Known {
  own: number;
  others: number;
  foreign: number;
  /** Evictions when this was known. */
  evicted: number;
}

export class Memory implements CheckerPart {
  readonly #known = new Map<string, Known>();
  readonly #sequences = new Map<string, { sequence: number; followed: number }>();

  check({ process, event }: HistoryLine, truth: Truth): Problem {
    if (event.kind !== "decision") return undefined;
    const life = truth.life(process);
    if (isOfOtherWindow(event)) return undefined;
    const problem = this.#time(process, event, life);
    // A followed clock makes a process give up slots of later windows one by one, as their keys are asked about.
    // An item of a batch that is not counted is told as it stood before the batch, which may have evicted it meanwhile.
    const isBefore = event.batch !== 0 && !event.isCounted;
    return problem ?? (life.followed > 0 || isBefore ? undefined : this.#monotone(process, event, life));
  }

  #monotone(process: string, event: DecisionEvent, life: LifeTruth): Problem {
    const known = this.#at(process, event, life);
    for (const field of ["own", "others", "foreign"] as const) {
      if (event[field] < known[field]) return `monotone: ${field} fell from ${known[field]} to ${event[field]}`;
      known[field] = event[field];
    }
    return undefined;
  }

  #at(process: string, { key, sequence }: DecisionEvent, life: LifeTruth): Known {
    const place = placeOf(process, key, sequence);
    const evicted = life.evicted;
    let known = this.#known.get(place);
    if (known === undefined || known.evicted !== evicted) {
      known = { own: 0, others: 0, foreign: 0, evicted };
      this.#known.set(place, known);
    }
    return known;
  }

  #time(process: string, { durationMs, sequence }: DecisionEvent, { followed }: LifeTruth): Problem {
    const name = `${process} ${durationMs}`;
    const last = this.#sequences.get(name);
    if (last === undefined) {
      this.#sequences.set(name, { sequence, followed });
      return undefined;
    }
    if (sequence < last.sequence && followed === last.followed) {
      return `time: the sequence went back from ${last.sequence} to ${sequence}`;
    }
    last.sequence = sequence;
    last.followed = followed;
    return undefined;
  }
}
