/**
 * The invariant "Bounded excess": at every allow, the truth exceeds the limit by no more than E (docs/guarantees.md derives it).
 *
 * E is what this process could not have known: what others in its region accepted within the regional horizon, what other
 * regions accepted within the global one, what those may keep below their floors, what was lost with a killed process or
 * a store that forgot, and, while something is wrong and until it has healed, what was accepted since that began.
 */
import type { DecisionEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import { freshnessMs } from "../model/internals.ts";
import { isTight, type WorldOptions } from "../model/options.ts";
import type { Accepted } from "./accepted.ts";
import { Disturbances } from "./disturbance.ts";
import { type Horizons, horizonsOf, isOriginFar } from "./horizons.ts";
import { type CheckerPart, type Problem, shareOf } from "./part.ts";
import type { CellTruth, Truth } from "./truth.ts";

/** How finely the worst is followed below the limit, in parts of it. */
const WORST_STEPS = 100;

/** Bounds below this are mostly the rounding of two floors: how much of one was used says nothing. */
const BOUND_LEAST = 10;

export class Excess implements CheckerPart {
  /** Allows beyond the limit, in truth; of those, the ones whose E was finite by time alone. */
  over = 0;
  /** Of those, the ones that went beyond half of a bound that is more than rounding; and the largest part of it that was used. */
  overHalf = 0;
  /** Of those, the ones in a world without faults, where E is less than all there was: what delays alone can do. */
  overHalfCalm = 0;
  ratioMax = 0;
  /** The allow that went furthest over its limit, or came nearest to it, and its E: for a report. */
  worst: { readonly excess: number; readonly bound: number } = { excess: Number.NEGATIVE_INFINITY, bound: 0 };
  #disturbances: Disturbances | undefined;
  /** Processes whose breaker is not closed, where the origin is far away. */
  readonly #cut = new Set<string>();
  /** When a full table last had no slot for a key, as far as a history can show it: by process and key. */
  readonly #slotlessMs = new Map<string, number>();
  #options: WorldOptions | undefined;
  #horizons: Horizons | undefined;

  check({ atMs, process, event }: HistoryLine, truth: Truth): Problem {
    if (event.kind === "setup") {
      this.#options = event.options;
      this.#horizons = horizonsOf(event.options);
      this.#disturbances = new Disturbances(this.#horizons.healMs, event.options.regions);
    } else if (event.kind === "fault") {
      this.#disturbances!.record(atMs, event);
    } else if (event.kind === "rows-lost") {
      this.#disturbances!.at("global").record(atMs, "global-lost-table", true);
      this.#disturbances!.at("global").record(atMs, "global-lost-table", false);
    } else if (event.kind === "breaker" || event.kind === "killed" || event.kind === "stopped") {
      this.#cutOff(atMs, process, event.kind === "breaker" && event.state !== "closed", truth);
    } else if (event.kind === "decision") {
      this.#slot(atMs, process, event);
      if (event.reason === "allowed" && !event.degraded) return this.#allowed(atMs, process, event, truth);
    }
    return undefined;
  }

  /**
   * Late reads from an origin far away open a breaker, and what its process accepts is not replayed until it closes: as good as
   * a cut link. In worlds whose origins answer in time only faults open one, and those are told.
   */
  #cutOff(atMs: number, process: string, isCut: boolean, truth: Truth): void {
    if (!isOriginFar(this.#options!) || this.#cut.has(process) === isCut) return;
    if (isCut) this.#cut.add(process);
    else this.#cut.delete(process);
    this.#disturbances!.at(truth.life(process).region).record(atMs, "link-cut", isCut);
  }

  /**
   * A key may have had no slot: in a table that is too small, an import passes it by. What others in the region counted says nothing: the
   * read for this request may have brought it.
   */
  #slot(atMs: number, process: string, { key, own, foreign }: DecisionEvent): void {
    if (isTight(this.#options!) && own + foreign === 0) this.#slotlessMs.set(`${process} ${key}`, atMs);
  }

  #allowed(atMs: number, process: string, event: DecisionEvent, truth: Truth): Problem {
    const { key, sequence, limit } = event;
    const cell = truth.cell(key, sequence);
    const before = truth.cell(key, sequence - 1);
    const together = truth.together(process, event);
    const pending = truth.pendingOf(process, event);
    const excess = cell.total - pending + shareOf(before.total, event) + together - limit;
    // Below the limit E is computed for the report only, and only where the worst moves by a part that shows.
    const isWorst = excess > this.worst.excess + (excess > 0 ? 0 : limit / WORST_STEPS);
    if (excess <= 0 && !isWorst) return undefined;
    const bound =
      this.#unknown(atMs, process, event, 0, truth) + shareOf(this.#unknown(atMs, process, event, 1, truth), event) + 1;
    if (isWorst) this.worst = { excess, bound };
    if (excess <= 0) return undefined;
    this.over++;
    if (bound >= BOUND_LEAST) {
      this.ratioMax = Math.max(this.ratioMax, excess / bound);
      if (2 * excess > bound) this.overHalf++;
      const isKnownInPart = bound < cell.total + shareOf(before.total, event);
      if (2 * excess > bound && this.#isCalm() && isKnownInPart) this.overHalfCalm++;
    }
    if (excess <= bound) return undefined;
    return `excess: ${excess} over ${limit}, E = ${bound}; own ${event.own} others ${event.others} foreign ${event.foreign} previous ${event.previous}, truth ${cell.total} and ${before.total}`;
  }

  /** What this process could not have known of a cell: the current one, or the one `back` windows before. */
  #unknown(atMs: number, process: string, event: DecisionEvent, back: number, truth: Truth): number {
    const cell = truth.cell(event.key, event.sequence - back);
    const startMs = (event.sequence - back) * event.durationMs;
    // A clock that runs behind asks about a cell that the stores have let expire.
    if (startMs + 2 * event.durationMs <= atMs) return cell.total;
    const { region, forgotAtMs } = truth.life(process);
    const { durationMs } = event;
    const options = this.#options!;
    const horizons = this.#horizons!;
    // The origin checked it itself, at that moment: what it did not have was on its way.
    const call = truth.call(process, event.call);
    const regionalMs = call === undefined ? horizons.regionalMs + freshnessMs(durationMs) : horizons.storedMs;
    const heardAtMs = call === undefined ? atMs : call.executedMs;
    const sinceRegional = options.hasOrigin ? this.#since([region], heardAtMs, regionalMs) : Number.NEGATIVE_INFINITY;
    const isGlobal = options.hasGlobal && options.globalMode !== "denials" && durationMs >= options.globalMinDuration;
    // A process that forgot, or had no room for the key, has to import everything again. One that has just begun flags its answers
    // until it has imported, so they never get here.
    const slotlessMs = this.#slotlessMs.get(`${process} ${event.key}`) ?? Number.NEGATIVE_INFINITY;
    const importedMs = Math.max(forgotAtMs, slotlessMs) + horizons.fullPassMs;
    const sinceOf = (from: string): number => {
      if (from === region) return sinceRegional;
      if (!isGlobal) return Number.NEGATIVE_INFINITY;
      const heardMs = this.#since([region, from, "global"], atMs, horizons.globalMs + freshnessMs(durationMs));
      return importedMs < heardMs ? heardMs : Number.NEGATIVE_INFINITY;
    };
    // Its own it knows, unless it forgot.
    let unknown = -unheardOf(cell.acceptedBy.get(process), startMs, sinceRegional, forgotAtMs);
    // But not what its origin has admitted and it has not been told yet; and the origin did not know what was counted beside a call.
    if (call === undefined) unknown += cell.pendingOf(process);
    else if (back === 0) unknown += Math.max(0, cell.ownOf(process) - call.decided - (call.ended?.total ?? 0));
    for (const [from, accepted] of cell.acceptedIn) unknown += unheardOf(accepted, startMs, sinceOf(from));
    // What a region does not tell, or not yet: what is below its floor; what the global counters lost, and no full pass has shown
    // since; what a process replayed before it ended or evicted the key, if nobody there has asked since, or only just: a row that rose may be unheard.
    const rowsMs = this.#since([region, "global"], atMs, horizons.importMs);
    const ended = endedIn(cell, truth);
    for (const [from, count] of cell.byRegion) {
      if (from === region) continue;
      const isLost = cell.rowsLostMs >= this.#since([from, "global"], atMs, horizons.fullPassMs);
      const hidden = Math.ceil(horizons.floor * lowestIn(cell, from, sinceOf(from)));
      unknown += hidden + (isLost || ended.has(from) ? count - truth.rowAt(cell, from, rowsMs) : 0);
    }
    return Math.min(cell.total, unknown + lostOf(cell, truth));
  }

  /** The disturbances of several places chain: what one did not tell while it was cut, the next could not hear. */
  #since(places: readonly string[], atMs: number, horizonMs: number): number {
    for (let sinceMs = atMs - horizonMs; ; ) {
      const from = sinceMs;
      for (const place of places) sinceMs = this.#disturbances!.at(place).unheardSince(sinceMs, horizonMs);
      if (sinceMs === from) return sinceMs;
    }
  }

  #isCalm(): boolean {
    const { faults, script } = this.#options!;
    return faults.length === 0 && script === "none";
  }
}

/**
 * What was accepted since `sinceMs`, or before the window began: by a clock that ran ahead, and a window that is young is not
 * read. Of that, only what came after `afterMs`.
 */
function unheardOf(
  accepted: Accepted | undefined,
  startMs: number,
  sinceMs: number,
  afterMs: number = Number.NEGATIVE_INFINITY,
): number {
  if (accepted === undefined) return 0;
  const left = accepted.upTo(afterMs);
  const heard = accepted.before(sinceMs) - Math.max(left, accepted.before(startMs));
  return accepted.total - left - Math.max(0, heard);
}

/**
 * The limit that a region's floor follows: of each process that accepted something of the cell, the lowest that it was asked with by
 * `sinceMs`; of those the highest, as it may be the only one that knows all.
 */
function lowestIn(cell: CellTruth, region: string, sinceMs: number): number {
  let highest = 0;
  for (const { life, region: from } of cell.byWriter.values()) {
    if (from === region) highest = Math.max(highest, Math.min(cell.limitMax, cell.lowAt(life, sinceMs)));
  }
  return highest;
}

/** What nobody can tell any more: counted under an id that no living process sends again, and missing in its origin. */
function lostOf(cell: CellTruth, truth: Truth): number {
  let lost = 0;
  for (const [writer, { region, total }] of cell.byWriter) {
    if (truth.isHealing(cell, writer) && !cell.missing.has(writer)) continue;
    lost += Math.max(0, total - (cell.stored.get(region)?.get(writer) ?? 0));
  }
  return lost;
}

/** The regions of processes that ended, or gave up the key's slot, after they had accepted something of a cell. */
function endedIn(cell: CellTruth, truth: Truth): ReadonlySet<string> {
  const regions = new Set<string>();
  for (const { life, region, lastMs } of cell.byWriter.values()) {
    const { state, forgotAtMs } = truth.life(life);
    if (state !== "running" || forgotAtMs >= lastMs) regions.add(region);
  }
  return regions;
}
