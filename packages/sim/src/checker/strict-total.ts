/**
 * The invariant "Strict total": from the moment at which all processes of a region are strict for a key, what the region accepts in a
 * cell stays within
 *
 *   max(what it had accepted then, limit + U)        U: what it had accepted then, and its origin did not have
 *
 * without any slack (docs/guarantees.md). Any moment at which they are strict will do, so the least of these bounds is kept.
 *
 * Batches and degraded answers are not covered: after one, the bound begins again. So it does when the origin forgets something.
 */
import type { DecisionEvent } from "sluice";
import type { HistoryLine, WorldEvent } from "../model/history.ts";
import type { CheckerPart, Problem } from "./part.ts";
import type { CellTruth, Truth } from "./truth.ts";

type Admitted = Extract<WorldEvent, { kind: "admitted" }>;

interface Watch {
  readonly total: number;
  readonly unstored: number;
}

/** The monotonic clock of a process may run this much faster than the world's: its strict time ends that much earlier. */
const CLOCK_FASTEST = 1.02;

export class StrictTotal implements CheckerPart {
  /** Costs that were admitted while all processes of a region were strict, and requests that were refused then. */
  admitted = 0;
  refused = 0;
  #isOn = false;
  /** The last denial by life and key, world time. */
  readonly #deniedMs = new Map<string, number>();
  /** By region and key, then by sequence. */
  readonly #watched = new Map<string, Map<number, Watch>>();

  check({ atMs, process, event }: HistoryLine, truth: Truth): Problem {
    if (event.kind === "setup") this.#isOn = event.options.hasOrigin && (event.options.admits ?? "none") !== "none";
    if (!this.#isOn) return undefined;
    if (event.kind === "wiped") this.#forget(event.region);
    if (event.kind === "admitted") return this.#admits(atMs, event, truth);
    if (event.kind === "decision") return this.#decides(atMs, process, event, truth);
    return undefined;
  }

  #admits(atMs: number, event: Admitted, truth: Truth): Problem {
    const { region, key, sequence, life, cost, limit } = event;
    const watch = this.#watch(atMs, event, truth);
    if (watch === undefined) return undefined;
    const call = truth.call(life, event.call);
    // A call that was given up is accepted already.
    const rise = Math.max(0, cost - Math.max(call?.admitted ?? 0, call?.decided ?? 0));
    this.refused += event.refused;
    if (rise === 0) return undefined;
    this.admitted++;
    const cell = truth.cell(key, sequence);
    return exceeds(watch, cell.region(region) + rise, Math.max(limit, cell.limitMax));
  }

  #decides(atMs: number, process: string, event: DecisionEvent, truth: Truth): Problem {
    const { key, sequence, cost, batch, call, degraded, isCounted, reason, limit } = event;
    const { region } = truth.life(process);
    const name = `${region} ${key}`;
    const watch = this.#watch(atMs, { region, key, sequence }, truth);
    if (reason === "limit") this.#deniedMs.set(`${process} ${key}`, atMs);
    if (!isCounted || cost === 0) return undefined;
    if (batch !== 0 || degraded) this.#watched.delete(name);
    else if (watch !== undefined && call === 0) {
      const cell = truth.cell(key, sequence);
      return exceeds(watch, cell.region(region) + cost, Math.max(limit, cell.limitMax));
    }
    return undefined;
  }

  /** The bound that holds for a cell now; undefined if not all of its region's processes are strict. */
  #watch(
    atMs: number,
    { region, key, sequence }: { readonly region: string; readonly key: string; readonly sequence: number },
    truth: Truth,
  ): Watch | undefined {
    const name = `${region} ${key}`;
    const durationMs = truth.durations.get(key) ?? 0;
    if (atMs >= (sequence + 2) * durationMs || !this.#areStrict(atMs, region, key, durationMs, truth)) {
      this.#watched.delete(name);
      return undefined;
    }
    const cell = truth.cell(key, sequence);
    const now = { total: cell.region(region), unstored: unstoredIn(cell, region) };
    const watches = this.#watched.get(name) ?? new Map<number, Watch>();
    this.#watched.set(name, watches);
    const before = watches.get(sequence);
    const least = before === undefined || boundOf(now, cell.limitMax) < boundOf(before, cell.limitMax) ? now : before;
    watches.set(sequence, least);
    return least;
  }

  #areStrict(atMs: number, region: string, key: string, durationMs: number, truth: Truth): boolean {
    for (const [name, life] of truth.lives) {
      if (life.region !== region || life.state !== "running") continue;
      const deniedMs = this.#deniedMs.get(`${name} ${key}`) ?? Number.NEGATIVE_INFINITY;
      if (atMs >= deniedMs + durationMs / CLOCK_FASTEST) return false;
    }
    return true;
  }

  #forget(region: string): void {
    for (const name of this.#watched.keys()) if (name.startsWith(`${region} `)) this.#watched.delete(name);
  }
}

function boundOf({ total, unstored }: Watch, limit: number): number {
  return Math.max(total, limit + unstored);
}

function exceeds(watch: Watch, total: number, limit: number): Problem {
  const bound = boundOf(watch, limit);
  if (total <= bound) return undefined;
  return `strict total: ${total} of ${limit} accepted, ${watch.total} when all were strict and ${watch.unstored} was not stored`;
}

/** What the processes of a region have accepted, and its origin does not have. */
function unstoredIn(cell: CellTruth, region: string): number {
  const stored = cell.stored.get(region);
  let unstored = 0;
  for (const [writer, { region: from, total }] of cell.byWriter) {
    if (from === region) unstored += Math.max(0, total - (stored?.get(writer) ?? 0));
  }
  return unstored;
}
