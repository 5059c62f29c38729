/**
 * The invariant "Join laws" as a history shows it: what a process knows of a cell is the join of the messages it heard, whatever their order
 * and however often each came.
 *
 * `others` is the largest `sum - component` of any answer, or of the region's own row without this process's count; `foreign`
 * the largest import. A join of a set knows no order: a process that assigned, added or dropped would differ from it. Between
 * two bounds where a history cannot show whether an answer was merged: that of a read begun before the key had a slot.
 *
 * A process that forgot (an eviction, a clock that was followed back) is left to memory.ts from then on; so are tables too
 * small for the keys.
 */
import type { DecisionEvent, ImportEvent, OriginEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import { isTight } from "../model/options.ts";
import { type CheckerPart, isOfOtherWindow, type Problem, placeOf } from "./part.ts";
import type { Truth } from "./truth.ts";

interface Heard {
  /** `others` is at least the one and at most the other. */
  sure: number;
  possible: number;
  foreign: number;
  /** A row of the denial channel raised `foreign` further. */
  isInflated: boolean;
}

export class Join implements CheckerPart {
  /** Decisions whose counts were compared with the join. */
  compared = 0;
  #isTight = false;
  readonly #heard = new Map<string, Heard>();

  check({ process, event }: HistoryLine, truth: Truth): Problem {
    switch (event.kind) {
      case "setup":
        this.#isTight = isTight(event.options);
        return undefined;
      case "read":
      case "raise":
      case "admit":
        this.#answered(process, event);
        return undefined;
      case "import":
        this.#imported(process, event, truth);
        return undefined;
      case "inflate":
        this.#at(process, event).isInflated = true;
        return undefined;
      case "decision":
        return this.#decision(process, event, truth);
      default:
        return undefined;
    }
  }

  #answered(process: string, event: OriginEvent): void {
    if (!event.isAnswered) return;
    const heard = this.#at(process, event);
    const others = event.sum - event.component;
    if (event.writer !== "") heard.sure = Math.max(heard.sure, others);
    heard.possible = Math.max(heard.possible, others);
  }

  #imported(process: string, event: ImportEvent, truth: Truth): void {
    const heard = this.#at(process, event);
    const others = event.own - truth.cell(event.key, event.sequence).ownOf(process);
    heard.sure = Math.max(heard.sure, others);
    heard.possible = Math.max(heard.possible, others);
    heard.foreign = Math.max(heard.foreign, event.count);
  }

  #decision(process: string, event: DecisionEvent, truth: Truth): Problem {
    const { evicted, followed } = truth.life(process);
    if (this.#isTight || evicted + followed > 0 || isOfOtherWindow(event)) return undefined;
    this.compared++;
    const { others, foreign } = event;
    const heard = this.#at(process, event);
    // A peek makes no slot, and one that was swept while it waited is not made again: what was read is in its answer alone.
    if (event.cost === 0 && event.own + others + foreign === 0) heard.sure = 0;
    if (others < heard.sure || others > heard.possible) {
      return `join: others ${others}, the messages say ${heard.sure} to ${heard.possible}`;
    }
    if (foreign === heard.foreign || (foreign > heard.foreign && heard.isInflated)) return undefined;
    return `join: foreign ${foreign}, the messages say ${heard.foreign}`;
  }

  #at(process: string, { key, sequence }: { readonly key: string; readonly sequence: number }): Heard {
    const place = placeOf(process, key, sequence);
    let heard = this.#heard.get(place);
    if (heard === undefined) {
      heard = { sure: 0, possible: 0, foreign: 0, isInflated: false };
      this.#heard.set(place, heard);
    }
    return heard;
  }
}
