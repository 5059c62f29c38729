/**
 * The invariants "Single writer", "Lower bound" and "No false denial": one owner per component, every count a lower bound of the truth, no false denial.
 *
 * A cell that a denial row inflated is no lower bound by design: its `foreign` says "full", not "so much". What is
 * checked of it instead: every row of the channel names a cell and a limit with which some process of its region denied while that
 * region had, in truth, accepted at least half of that limit in that very window (so that no row can follow from rows alone); and a
 * cell is inflated only to the limit of such a row of another region: its own region knows what it accepted. A denial that rests on
 * an inflated cell is then legitimate; everything else about the cell (own, others, stored components) is checked as ever, and
 * `foreign` may not pass the largest limit that another region wrote.
 */
import type { DecisionEvent, GlobalEvent, ImportEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import { type CheckerPart, isOfOtherWindow, type Problem, placeOf, shareOf } from "./part.ts";
import { ProcessClocks } from "./process-clock.ts";
import type { CellTruth, Truth } from "./truth.ts";

export class LowerBound implements CheckerPart {
  /** How many decisions were denied where the truth would allow, and views found above it. Zero, or the run fails. */
  falseDenials = 0;
  viewsAbove = 0;
  #hasOrigin = false;
  readonly #clocks = new ProcessClocks();
  readonly #owners = new Map<string, string>();
  /** Cells that a denial row raised, by process, and the largest limit of such a row. */
  readonly #inflated = new Map<string, number>();
  /** Cells and limits that were denied where half was used, and those of them that the channel has been told. */
  readonly #denied = new Set<string>();
  readonly #told = new Map<string, Set<string>>();

  check({ atMs, process, event }: HistoryLine, truth: Truth): Problem {
    switch (event.kind) {
      case "setup":
        this.#hasOrigin = event.options.hasOrigin;
        return undefined;
      case "decision":
        return (
          this.#ownership(process, event.writer) ??
          this.#decision(process, event, truth) ??
          this.#realTime(atMs, process, event, truth)
        );
      case "clock":
        this.#clocks.changes(atMs, process, truth.life(process));
        return undefined;
      case "stored": {
        const accepted = truth.cell(event.key, event.sequence).byWriter.get(event.writer)?.total ?? 0;
        if (event.total <= accepted) return undefined;
        return `lower bound: ${event.writer} stored ${event.total}, accepted ${accepted}`;
      }
      case "row": {
        const accepted = truth.cell(event.key, event.sequence).region(truth.originOf(event.region));
        if (event.count <= accepted) return undefined;
        return `lower bound: region ${event.region} published ${event.count}, accepted ${accepted}`;
      }
      case "publish":
      case "import":
        return this.#global(process, event, truth);
      case "told": {
        const name = `${event.limit} ${event.sequence} ${event.key}`;
        const regions = this.#told.get(name) ?? new Set<string>();
        this.#told.set(name, regions.add(truth.originOf(event.region)));
        if (this.#denied.has(`${truth.originOf(event.region)} ${name}`)) return undefined;
        return `denial channel: ${event.region} told of ${name}, of which half was not used`;
      }
      case "inflate":
        return this.#inflates(process, event, truth.life(process).region);
      default:
        return undefined;
    }
  }

  #ownership(process: string, writer: string): Problem {
    if (writer === "") return undefined;
    const owner = this.#owners.get(writer);
    if (owner === undefined) this.#owners.set(writer, process);
    else if (owner !== process) return `single writer: ${writer} of ${owner} is used by ${process}`;
    return undefined;
  }

  #decision(process: string, event: DecisionEvent, truth: Truth): Problem {
    const { key, sequence, own, others, foreign, previous } = event;
    const cell = truth.cell(key, sequence);
    const before = truth.cell(key, sequence - 1);
    const { region } = truth.life(process);
    const problem = event.isCounted ? this.#own(process, event, cell, truth) : undefined;
    if (problem !== undefined) return problem;
    const raisedTo = this.#inflated.get(placeOf(process, key, sequence)) ?? 0;
    const isInflated = raisedTo > 0;
    const wasInflated = this.#inflated.has(placeOf(process, key, sequence - 1));
    const isAbove =
      own + others > cell.region(region) ||
      foreign > Math.max(raisedTo, cell.total - cell.region(region)) ||
      (!wasInflated && previous > before.total);
    if (isAbove) {
      this.viewsAbove++;
      return `lower bound: a view above the truth: own ${own}, others ${others} of ${cell.region(region)} in the region; foreign ${foreign} of ${cell.total - cell.region(region)}; previous ${previous} of ${before.total}`;
    }
    const isHalfUsed = 2 * cell.region(region) >= event.limit;
    if (event.reason === "limit" && isHalfUsed) this.#denied.add(`${region} ${event.limit} ${sequence} ${key}`);
    if (isInflated || wasInflated) return undefined;
    const together = truth.together(process, event);
    // The answer is of the window that is current when the call ends.
    if (isOfOtherWindow(event)) return this.#outlasted(process, event, truth);
    const really = cell.total - truth.pendingOf(process, event) + shareOf(before.total, event) + together;
    if (event.effective > really) {
      this.viewsAbove++;
      return `lower bound: decided with ${event.effective}, in truth ${really}`;
    }
    if (event.reason !== "limit" || really > event.limit) return undefined;
    this.falseDenials++;
    return `false denial: ${really} of ${event.limit} in truth, denied with ${event.effective}`;
  }

  #outlasted(process: string, event: DecisionEvent, truth: Truth): Problem {
    const at = { ...event, sequence: Math.floor(event.wallMs / event.durationMs) };
    const raised = this.#isRaised(process, event.key, at.sequence);
    const cost = at.sequence === event.sequence + 1 ? event.cost - truth.pendingOf(process, event) : 0;
    const before = truth.cell(event.key, at.sequence - 1).total + cost;
    const really = truth.cell(event.key, at.sequence).total + shareOf(before, at);
    if (raised || event.effective <= really) return undefined;
    this.viewsAbove++;
    return `lower bound: decided with ${event.effective}, in truth ${really}`;
  }

  /**
   * No false denial by real time: the decision is judged at a time that the process may believe it to be, not at the time that its
   * engine says it is.
   */
  #realTime(atMs: number, process: string, event: DecisionEvent, truth: Truth): Problem {
    const { wallMs, key, durationMs, limit, reason } = event;
    const { fromMs, toMs } = this.#clocks.rangeOf(atMs, process, event, truth.life(process));
    if (wallMs >= fromMs && wallMs <= toMs) return undefined;
    const rightMs = Math.floor(wallMs < fromMs ? fromMs : toMs);
    const sequence = Math.floor(rightMs / durationMs);
    const at = { ...event, wallMs: rightMs, sequence };
    const really =
      truth.cell(key, sequence).total +
      shareOf(truth.cell(key, sequence - 1).total, at) +
      truth.together(process, event);
    if (reason === "limit" && really <= limit && !this.#isRaised(process, key, sequence)) {
      this.falseDenials++;
      return `false denial: ${really} of ${limit} in real time, denied at ${wallMs} instead of ${rightMs}`;
    }
    return `time: decided at ${wallMs}, which is not between ${fromMs} and ${toMs}`;
  }

  #isRaised(process: string, key: string, sequence: number): boolean {
    return (
      this.#inflated.has(placeOf(process, key, sequence)) || this.#inflated.has(placeOf(process, key, sequence - 1))
    );
  }

  /** A life's own count is exact. */
  #own(process: string, event: DecisionEvent, cell: CellTruth, truth: Truth): Problem {
    const { own, writer, batch } = event;
    const one = cell.byWriter.get(writer);
    const accepted = one === undefined ? 0 : one.total - one.pending;
    // Two windows later a cell no longer matters, and its slot does not hold it.
    if (own === accepted || Math.floor(event.wallMs / event.durationMs) > event.sequence + 1) return undefined;
    if (truth.life(process).followed > 0) {
      // A clock was followed back: a decision may rest on a slot of a later window, which it gives up for a new id. Without an
      // origin no id is needed, and the later window is forgotten.
      const isGivenUp = [...cell.byWriter.values()].some(({ life, total }) => life === process && total === own);
      if ((isGivenUp && (accepted === 0 || batch !== 0)) || (own < accepted && (batch !== 0 || !this.#hasOrigin)))
        return undefined;
    }
    return `own: ${own} counted, ${accepted} accepted under ${writer}`;
  }

  #global(process: string, { kind, key, sequence, count }: GlobalEvent | ImportEvent, truth: Truth): Problem {
    const cell = truth.cell(key, sequence);
    const regional = cell.region(truth.life(process).region);
    const accepted = kind === "publish" ? regional : cell.total - regional;
    return count <= accepted ? undefined : `lower bound: ${kind} of ${count}, accepted ${accepted}`;
  }

  #inflates(process: string, { key, sequence, count }: GlobalEvent, region: string): Problem {
    const place = placeOf(process, key, sequence);
    this.#inflated.set(place, Math.max(count, this.#inflated.get(place) ?? 0));
    const from = this.#told.get(`${count} ${sequence} ${key}`);
    if (from === undefined) return `denial channel: inflated to ${count}, of which nobody told`;
    if (from.size > 1 || !from.has(region)) return undefined;
    return `denial channel: inflated to ${count} by a row of its own region`;
  }
}
