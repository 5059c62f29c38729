/**
 * The pairs of region name and origin of a store in memory: what the table `origins` is on SQL.
 *
 * A pair is kept for a day after it was last registered, and then for as long as a row of its name lives; the identity of
 * a process without an origin for ten minutes, unless two names share it.
 */
import type { Registration } from "./counters.ts";
import {
  LIFE_FORGOTTEN_MS,
  LIFE_PREFIX,
  NAME_FORGOTTEN_MS,
  NAME_LIVE_MS,
  NO_NAMES,
  type RegionName,
  RegionNames,
} from "./region-names.ts";

export class NameBook {
  readonly #pairs = new Map<string, RegionName>();
  #names: RegionNames | null = NO_NAMES;

  /** The names as they are now; the same object until a registration or `forget` changes them. */
  get names(): RegionNames {
    this.#names ??= new RegionNames(this.#pairs.values());
    return this.#names;
  }

  register(region: string, origin: string, nowMs: number): Registration {
    this.#pairs.set(JSON.stringify([region, origin]), { region, origin, seenAtMs: nowMs });
    this.#names = null;
    const isInUse = (pair: RegionName) =>
      pair.origin === origin && pair.region !== region && nowMs - pair.seenAtMs < NAME_LIVE_MS;
    const inUse = [...this.#pairs.values()].filter(isInUse).map((pair) => pair.region);
    return { aliases: this.names.aliases(region), conflict: inUse.length === 0 ? null : twoNames(region, inUse) };
  }

  /** Forgets pairs that are no longer needed; `hasRows` says whether a row of a name lives. */
  forget(nowMs: number, hasRows: (region: string) => boolean): void {
    for (const [key, { region, origin, seenAtMs }] of this.#pairs) {
      const isLife = origin.startsWith(LIFE_PREFIX) && this.names.aliases(region).length === 0;
      if (nowMs - seenAtMs < (isLife ? LIFE_FORGOTTEN_MS : NAME_FORGOTTEN_MS)) continue;
      if (!isLife && hasRows(region)) continue;
      this.#pairs.delete(key);
      this.#names = null;
    }
  }

  /** A copy, as of now. */
  copy(): NameBook {
    const book = new NameBook();
    for (const [key, pair] of this.#pairs) book.#pairs.set(key, pair);
    book.#names = null;
    return book;
  }
}

/** What is wrong if one origin is in use under several names, and what to do. */
export function twoNames(region: string, others: readonly string[]): string {
  const shown = others.slice(0, 3).map((name) => JSON.stringify(name));
  const more = others.length > shown.length ? ` and ${others.length - shown.length} more` : "";
  return `the region ${JSON.stringify(region)} shares its origin with ${shown.join(", ")}${more}, which is in use at the same time: give all processes that share one Redis the same region name`;
}
