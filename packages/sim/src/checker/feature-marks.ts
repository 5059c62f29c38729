/** The marks of worlds with features (features.ts): whether what operators and clients did there came to matter. */
import type { DecisionEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import type { WorldOptions } from "../model/options.ts";
import { placeOf } from "./part.ts";
import type { Truth } from "./truth.ts";

export type FeatureMark =
  | "region-renamed"
  | "origin-under-two-names"
  | "start-into-a-used-up-limit"
  | "limit-lowered"
  | "limit-raised"
  | "small-cost-after-a-large-one"
  | "clock-held-beyond-a-window"
  | "region-restarted-empty";

/** What each mark stands for. */
export const FEATURE_MARKS: Readonly<Record<FeatureMark, string>> = {
  "region-renamed": "a process began under a new region name while rows of its origin under the old one still counted",
  "origin-under-two-names": "two running processes of one origin had published the same cell under different names",
  "start-into-a-used-up-limit":
    "a process that had just begun decided about a key whose limit other regions had used up",
  "limit-lowered": "a request was denied under a lower limit than the cell had accepted under",
  "limit-raised": "a request was allowed under a higher limit than the cell had denied under",
  "small-cost-after-a-large-one": "a cost was allowed on fresh data after a cost above half of the limit was denied",
  "clock-held-beyond-a-window": "a decision was made with a held clock that was ahead by at least a window",
  "region-restarted-empty": "an origin lost everything while none of its processes was running",
};

/** What a cell was decided with so far. */
interface Limits {
  acceptedMax: number;
  deniedMin: number;
}

/** How long a process has just begun, in milliseconds. */
const JUST_BEGUN_MS = 1_000;

export class FeatureMarks {
  readonly counts: Record<FeatureMark, number> = Object.fromEntries(
    Object.keys(FEATURE_MARKS).map((mark) => [mark, 0]),
  ) as Record<FeatureMark, number>;
  #options: WorldOptions | undefined;
  readonly #limits = new Map<string, Limits>();
  readonly #largeDenied = new Set<string>();
  /** By how much the clock of each process is ahead. */
  readonly #leadMs = new Map<string, number>();
  /** Who published a cell last under each name. */
  readonly #publishers = new Map<string, Map<string, string>>();

  check({ atMs, process, event }: HistoryLine, truth: Truth): void {
    switch (event.kind) {
      case "setup":
        this.#options = event.options;
        break;
      case "begun":
        if (isNewName(atMs, event, truth)) this.counts["region-renamed"]++;
        break;
      case "publish":
        this.#published(process, placeOf("", event.key, event.sequence), truth);
        break;
      case "held":
        this.#leadMs.set(process, event.leadMs);
        break;
      case "wiped":
        if (![...truth.lives.values()].some(({ region, state }) => region === event.region && state === "running"))
          this.counts["region-restarted-empty"]++;
        break;
      case "decision":
        this.#decision(atMs, process, event, truth);
        break;
    }
  }

  #published(process: string, cell: string, truth: Truth): void {
    const { region, name } = truth.life(process);
    const place = `${region} ${cell}`;
    const publishers = this.#publishers.get(place) ?? new Map<string, string>();
    this.#publishers.set(place, publishers.set(name, process));
    const running = [...publishers.values()].filter((life) => truth.life(life).state === "running");
    if (running.length > 1) this.counts["origin-under-two-names"]++;
  }

  #decision(atMs: number, process: string, event: DecisionEvent, truth: Truth): void {
    const { key, sequence, limit, cost, reason, isCounted, source, degraded, durationMs } = event;
    const cell = truth.cell(key, sequence);
    const { region, begunAtMs } = truth.life(process);
    const isShared = this.#options!.hasGlobal && durationMs >= this.#options!.globalMinDuration;
    const isUsedUp = cell.total - cell.region(region) >= limit;
    if (isShared && isUsedUp && atMs - begunAtMs <= JUST_BEGUN_MS) this.counts["start-into-a-used-up-limit"]++;
    if ((this.#leadMs.get(process) ?? 0) >= durationMs) this.counts["clock-held-beyond-a-window"]++;
    const place = placeOf("", key, sequence);
    const limits = this.#limits.get(place) ?? { acceptedMax: 0, deniedMin: Number.POSITIVE_INFINITY };
    this.#limits.set(place, limits);
    if (isCounted) {
      if (limit > limits.deniedMin) this.counts["limit-raised"]++;
      limits.acceptedMax = Math.max(limits.acceptedMax, limit);
    } else if (reason === "limit") {
      if (limit < limits.acceptedMax) this.counts["limit-lowered"]++;
      limits.deniedMin = Math.min(limits.deniedMin, limit);
    }
    const name = placeOf(process, key, sequence);
    if (reason === "limit" && 2 * cost > limit) this.#largeDenied.add(name);
    else if (isCounted && source === "origin" && !degraded && this.#largeDenied.has(name))
      this.counts["small-cost-after-a-large-one"]++;
  }
}

function isNewName(atMs: number, event: { readonly region: string; readonly name: string }, truth: Truth): boolean {
  for (const { sequence, durationMs, cell } of truth.cells()) {
    if ((sequence + 2) * durationMs <= atMs) continue;
    for (const name of cell.rows.keys()) if (name !== event.name && truth.originOf(name) === event.region) return true;
  }
  return false;
}
