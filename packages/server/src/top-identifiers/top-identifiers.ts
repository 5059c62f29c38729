/**
 * Who uses a namespace most, and who is denied most, over the last minutes: a sketch for each minute of each namespace, in memory of a
 * fixed size.
 *
 * Namespaces have a cap. When there are more at work than that, those beyond it wait, counted by one sketch of their own; at the end of
 * a minute one that had more checks in it than a watched one takes its place. What is told of a namespace says whether all of its
 * checks are in it (`isWhole`).
 *
 * It knows no clock: whoever tells it of a check tells the time, on a clock that does not go back. The identifiers in it are for who may
 * read the namespace: they go into no log and no metric.
 */
import { firstOf, mergedOf, type Ranking } from "./ranking.ts";
import { SpaceSaving } from "./space-saving.ts";

export const RANKED_BY = ["use", "denials"] as const;
export type RankedBy = (typeof RANKED_BY)[number];

export interface TopQuestion {
  readonly namespaceId: string;
  readonly by: RankedBy;
}

/** What one process, or all of a server, know of a namespace, as a message can carry it. */
export interface TopReading {
  /** How long ago the oldest minute began that is in it, or the process if that is younger. */
  readonly spanMs: number;
  /** Whether all checks of that time are in it. */
  readonly isWhole: boolean;
  readonly ranking: Ranking;
}

export interface TopIdentifiersOptions {
  /** Namespaces that are watched at once. */
  readonly namespacesMax: number;
  /** Names that a minute's sketch holds. No count is off by more than the total divided by this. */
  readonly counters: number;
}

export const COUNTERS = 100;
/** The minute that runs, and those before it. */
export const MINUTES = 5;
const MINUTE_MS = 60_000;

interface Watched {
  readonly sinceMs: number;
  /** By minute, in turn; undefined until something is counted. */
  readonly use: (SpaceSaving | undefined)[];
  readonly denials: (SpaceSaving | undefined)[];
  readonly checks: Float64Array;
}

export class TopIdentifiers {
  readonly #options: TopIdentifiersOptions;
  /** By id. */
  readonly #namespaces = new Map<string, Watched>();
  /** Checks of those that are not watched, in the minute that runs; null: there were none. */
  #waiting: SpaceSaving | null = null;
  /** The minute that runs, among MINUTES in turn. */
  #minute = 0;
  #minuteEndsMs: number;
  readonly #beganMs: number;
  /** When a check was last not counted, because too many namespaces were at work. */
  #turnedAwayMs = Number.NEGATIVE_INFINITY;

  constructor(options: TopIdentifiersOptions, nowMs: number) {
    this.#options = options;
    this.#beganMs = nowMs;
    // Whole minutes of that clock: so those of several processes are the same.
    this.#minuteEndsMs = MINUTE_MS * (1 + Math.floor(nowMs / MINUTE_MS));
  }

  /** Accepted cost; a check of cost 0 uses nothing. */
  used(namespaceId: string, identifier: string, cost: number, nowMs: number): void {
    const watched = this.#watched(namespaceId, nowMs);
    if (watched === undefined || cost === 0) return;
    this.#sketch(watched.use).add(identifier, cost);
  }

  /** One check that was denied, or would have been. */
  denied(namespaceId: string, identifier: string, nowMs: number): void {
    const watched = this.#watched(namespaceId, nowMs);
    if (watched !== undefined) this.#sketch(watched.denials).add(identifier, 1);
  }

  read({ namespaceId, by }: TopQuestion, nowMs: number): TopReading {
    this.#turnTo(nowMs);
    const fromMs = Math.max(this.#beganMs, this.#minuteEndsMs - MINUTES * MINUTE_MS);
    const watched = this.#namespaces.get(namespaceId);
    const sketches = watched?.[by] ?? [];
    const isWhole = this.#turnedAwayMs < fromMs || (watched !== undefined && watched.sinceMs <= fromMs);
    const rankings = sketches.flatMap((sketch) => (sketch === undefined ? [] : [sketch.read()]));
    return { spanMs: nowMs - fromMs, isWhole, ranking: mergedOf(rankings) };
  }

  #watched(namespaceId: string, nowMs: number): Watched | undefined {
    if (nowMs >= this.#minuteEndsMs) this.#turnTo(nowMs);
    const watched = this.#namespaces.get(namespaceId) ?? this.#watch(namespaceId, nowMs);
    if (watched !== undefined) watched.checks[this.#minute] = watched.checks[this.#minute]! + 1;
    return watched;
  }

  #watch(namespaceId: string, nowMs: number): Watched | undefined {
    if (this.#namespaces.size >= this.#options.namespacesMax) {
      this.#turnedAwayMs = nowMs;
      this.#waiting ??= new SpaceSaving(this.#options.namespacesMax);
      this.#waiting.add(namespaceId, 1);
      return undefined;
    }
    const none = () => Array.from({ length: MINUTES }, () => undefined);
    const watched = { sinceMs: nowMs, use: none(), denials: none(), checks: new Float64Array(MINUTES) };
    this.#namespaces.set(namespaceId, watched);
    return watched;
  }

  #sketch(minutes: (SpaceSaving | undefined)[]): SpaceSaving {
    const known = minutes[this.#minute];
    if (known !== undefined) return known;
    const made = new SpaceSaving(this.#options.counters);
    minutes[this.#minute] = made;
    return made;
  }

  #turnTo(nowMs: number): void {
    if (nowMs < this.#minuteEndsMs) return;
    this.#giveWay(nowMs);
    const turns = 1 + Math.floor((nowMs - this.#minuteEndsMs) / MINUTE_MS);
    this.#minuteEndsMs += turns * MINUTE_MS;
    for (let turn = 0; turn < Math.min(turns, MINUTES); turn++) {
      this.#minute = (this.#minute + 1) % MINUTES;
      for (const { use, denials, checks } of this.#namespaces.values()) {
        use[this.#minute] = undefined;
        denials[this.#minute] = undefined;
        checks[this.#minute] = 0;
      }
    }
    for (const [id, { checks, sinceMs }] of this.#namespaces) {
      if (sinceMs < nowMs && checks.every((count) => count === 0)) this.#namespaces.delete(id);
    }
  }

  /** At the end of a minute: the least busy of it, to those who wait and surely had more checks. */
  #giveWay(nowMs: number): void {
    if (this.#waiting === null) return;
    const waiting = firstOf(this.#waiting.read(), this.#options.namespacesMax).entries;
    this.#waiting = null;
    const checksOf = ([, { checks }]: readonly [string, Watched]) => checks[this.#minute]!;
    const leastBusy = [...this.#namespaces].sort((a, b) => checksOf(a) - checksOf(b));
    waiting.forEach(({ name, atLeast }, rank) => {
      const watched = leastBusy[rank];
      if (watched === undefined || checksOf(watched) >= atLeast) return;
      this.#namespaces.delete(watched[0]);
      this.#watch(name, nowMs);
    });
  }
}

/** Of all processes of a server; null: one that did not answer. */
export function mergedReading(readings: readonly (TopReading | null)[]): TopReading {
  const heard = readings.filter((reading) => reading !== null);
  return {
    spanMs: Math.max(0, ...heard.map(({ spanMs }) => spanMs)),
    isWhole: heard.length === readings.length && heard.every(({ isWhole }) => isWhole),
    ranking: mergedOf(heard.map(({ ranking }) => ranking)),
  };
}
