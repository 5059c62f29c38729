/**
 * The invariants "Conservation", "Convergence" and "Answered", and of "Honest" what concerns `close`: what holds once nothing is wrong any more and things have had time to settle.
 *
 * - drained: every cell that still matters is in its origin exactly as its living writers accepted it (unless the origin lost
 *   single keys: the heartbeat cannot show that, the next call about the key does)
 * - peeking: every process of a region has heard of everything the origin holds; where nothing was lost, all agree with the
 *   truth; foreign counts are what the global counters hold
 * - closing: every caller has an answer, and closing reports nothing lost
 *
 * At all times, a cleanup deletes only rows that have expired in world time.
 *
 * While faults are on, a stop reports at least what it really leaves behind: what its origin does not hold, or, in a region
 * without an origin, what the region's row in the global store does not hold.
 */
import type { DecisionEvent, ImportEvent } from "sluice";
import type { HistoryLine, WorldEvent } from "../model/history.ts";
import { isTight, type WorldOptions } from "../model/options.ts";
import { Disturbances } from "./disturbance.ts";
import { horizonsOf, mayReadLate } from "./horizons.ts";
import { type CheckerPart, type Problem, placeOf } from "./part.ts";
import type { CellTruth, Truth } from "./truth.ts";

type Phase = Extract<WorldEvent, { kind: "phase" }>["phase"];

export class Settlement implements CheckerPart {
  /** Components and views that were compared. */
  compared = 0;
  #options: WorldOptions | undefined;
  #disturbances: Disturbances | undefined;
  #phase: Phase = "safety";
  /** When the last fault ended, and when things had come to rest. */
  #calmMs = 0;
  #drainedMs = 0;
  /** The last count that each life published of a cell. */
  readonly #published = new Map<string, number>();
  /** The region's row as each life imported it, of cells in which that life had accepted nothing yet: what it continues from. */
  readonly #continued = new Map<string, number>();
  /** Whether the global counters are losing their rows at this moment. */
  #isLosingRows = false;
  /** When each origin last forgot something. */
  readonly #wipedMs = new Map<string, number>();

  check({ atMs, process, event }: HistoryLine, truth: Truth): Problem {
    switch (event.kind) {
      case "setup":
        this.#options = event.options;
        this.#disturbances = new Disturbances(horizonsOf(event.options).healMs, event.options.regions);
        return undefined;
      case "phase":
        this.#phase = event.phase;
        if (event.phase === "liveness") this.#calmMs = atMs;
        if (event.phase !== "drained") return undefined;
        this.#drainedMs = atMs;
        return this.#drained(atMs, truth) ?? this.#republished(atMs, truth);
      case "fault":
        this.#disturbances!.record(atMs, event);
        if (event.fault === "global-lost-table") this.#isLosingRows = event.isOn;
        return undefined;
      case "rows-lost":
        if (this.#isLosingRows) return undefined;
        return `conservation: a cleanup deleted the rows of ${event.key} ${event.sequence}, which have not expired`;
      case "wiped":
        this.#wipedMs.set(event.region, atMs);
        return undefined;
      case "decision":
        return this.#phase === "peeking" && event.cost === 0 ? this.#peek(process, event, truth) : undefined;
      case "publish":
        this.#published.set(placeOf(process, event.key, event.sequence), event.count);
        return undefined;
      case "import":
        this.#imported(process, event, truth);
        return undefined;
      case "stopped":
        if (this.#phase === "closing" && event.waiting > 0) return `liveness: ${event.waiting} callers wait for ever`;
        return this.#stopped(atMs, process, event.lost, event.latestMs, truth);
      default:
        return undefined;
    }
  }

  #drained(atMs: number, truth: Truth): Problem {
    if (this.#options?.hasOrigin !== true) return undefined;
    for (const { key, sequence, durationMs, cell } of truth.cells()) {
      const current = Math.floor(atMs / durationMs);
      if (sequence !== current && sequence !== current - 1) continue;
      for (const [writer, { life, region, total }] of cell.byWriter) {
        if (!truth.isHealing(cell, writer) || cell.missing.get(writer)?.isNoticed === false) continue;
        this.compared++;
        const stored = cell.stored.get(region)?.get(writer) ?? 0;
        if (stored !== total)
          return `conservation: ${life} accepted ${total} of ${key} ${sequence}, its origin has ${stored}`;
      }
    }
    return undefined;
  }

  /** Rows that the store lost are back, as far as somebody who published them lives and has not forgotten. */
  #republished(atMs: number, truth: Truth): Problem {
    const { fullPassMs } = horizonsOf(this.#options!);
    for (const { key, sequence, durationMs, cell } of truth.cells()) {
      const isOver = (sequence + 2) * durationMs <= atMs;
      if (isOver || Math.max(cell.rowsLostMs, this.#calmMs) + fullPassMs > atMs) continue;
      for (const [name, { state, region, forgotAtMs }] of truth.lives) {
        if (state !== "running" || forgotAtMs > Number.NEGATIVE_INFINITY) continue;
        const published = this.#published.get(placeOf(name, key, sequence)) ?? 0;
        // A row of another name of the same origin says the same.
        const row = truth.rowAt(cell, region, atMs);
        this.compared++;
        if (row < published) return `conservation: ${name} published ${published} of ${key}, the row has ${row}`;
      }
    }
    return undefined;
  }

  #peek(process: string, event: DecisionEvent, truth: Truth): Problem {
    const { key, sequence, own, others, foreign, degraded, durationMs } = event;
    const options = this.#options!;
    const cell = truth.cell(key, sequence);
    const { region } = truth.life(process);
    if (!options.hasOrigin) return undefined;
    if (degraded) return mayReadLate(options, event) ? undefined : "liveness: degraded long after the last fault";
    // A denial reads nothing, as no read could undo it; a key without a slot shows nothing of what was read.
    if (!event.success || own + others + foreign === 0) return undefined;
    this.compared++;
    const held = cell.storedSum(region);
    if (own + others < held) return `convergence: knows ${own} + ${others} of ${key}, the origin has ${held}`;
    const isGlobal = options.hasGlobal && options.globalMode !== "denials" && durationMs >= options.globalMinDuration;
    if (!isGlobal || isTight(options)) return undefined;
    const rows = foreignRows(cell, region, this.#drainedMs, truth);
    return foreign >= rows ? undefined : `convergence: foreign ${foreign}, the global counters have ${rows}`;
  }

  #stopped(atMs: number, process: string, lost: number, latestMs: number, truth: Truth): Problem {
    if (this.#phase === "closing" && lost > 0) return `shutdown: ${lost} lost, and nothing is wrong`;
    const life = truth.life(process);
    if (this.#options?.hasOrigin !== true) return this.#stoppedAlone(process, lost, latestMs, truth);
    // What the origin forgot after it had confirmed it is not missed before the heartbeat or a call about the key shows it, and never
    // if the process has forgotten it too.
    const wipedMs = this.#wipedMs.get(life.region) ?? Number.NEGATIVE_INFINITY;
    if (this.#disturbances!.at(life.region).isLossFelt(atMs)) return undefined;
    // What has expired, by the clock of the process, is not missed.
    const left = truth.unstored(process, latestMs, wipedMs >= life.begunAtMs);
    return left <= lost ? undefined : `shutdown: ${left} left behind, ${lost} reported`;
  }

  #imported(process: string, { key, sequence, own }: ImportEvent, truth: Truth): void {
    if (truth.cell(key, sequence).acceptedBy.has(process)) return;
    const place = placeOf(process, key, sequence);
    this.#continued.set(place, Math.max(own, this.#continued.get(place) ?? 0));
  }

  /**
   * Without an origin, a process is a region, and its counts are in the region's row or nowhere. Judged are windows that the
   * global store takes; not cells whose rows the store lost since, nor a life that evicted something or followed its clock back.
   */
  #stoppedAlone(process: string, lost: number, latestMs: number, truth: Truth): Problem {
    const { hasGlobal, globalMode, globalMinDuration, processes } = this.#options!;
    const { name: region, begunAtMs, evicted, followed } = truth.life(process);
    if (!hasGlobal || globalMode === "denials" || processes > 1 || evicted + followed > 0) return undefined;
    let left = 0;
    for (const { key, sequence, durationMs, cell } of truth.cells()) {
      const isOver = (sequence + 2) * durationMs <= latestMs;
      if (isOver || durationMs < globalMinDuration || cell.rowsLostMs >= begunAtMs) continue;
      let accepted = 0;
      for (const { life, total } of cell.byWriter.values()) if (life === process) accepted += total;
      if (accepted === 0) continue;
      this.compared++;
      const continued = this.#continued.get(placeOf(process, key, sequence)) ?? 0;
      left += Math.min(accepted, Math.max(0, continued + accepted - (cell.rows.get(region) ?? 0)));
    }
    return left <= lost ? undefined : `shutdown: ${left} in no row, ${lost} reported`;
  }
}

/** What the other regions' rows held before things came to rest: a peek may bring up something that is published after it. */
function foreignRows(cell: CellTruth, region: string, beforeMs: number, truth: Truth): number {
  if (cell.rowsMs > beforeMs) return 0;
  const origins = new Set([...cell.rows.keys()].map((name) => truth.originOf(name)));
  let sum = 0;
  for (const from of origins) if (from !== region) sum += truth.rowAt(cell, from, beforeMs);
  return sum;
}
