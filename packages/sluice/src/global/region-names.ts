/**
 * Which region names belong to one origin, and what the rows of a cell add up to when some of them do.
 *
 * Rows are stored under a region's name, but counts belong to an origin: every row of an origin is a total of the same counts. An
 * origin has several names after a region was renamed, or if two servers use one Redis under different names by mistake. Adding up
 * their rows would count everything twice and deny what must be allowed. So, seen from one region:
 *
 *   own       the largest of its own row and, if its name has had one origin only, the rows of other names of that origin alone
 *   foreign   for each other origin the largest row of its names, added up over origins
 *
 * A name may have had several origins (a Redis that was replaced, or two regions under one name by mistake). A row then contains
 * counts of any origin that used the name since the cell's window began: rows that have such an origin in common are taken as
 * one, by their maximum, and a row that may contain counts of this region and of another one is left out. Both are
 * lower than the truth or equal to it, never higher.
 *
 * It has no I/O: the stores keep the pairs of name and origin, and a store never returns a row without the pairs that were
 * committed before it.
 */

export interface RegionName {
  readonly region: string;
  readonly origin: string;
  /** When the pair was last registered, by the store's clock in Unix milliseconds. */
  readonly seenAtMs: number;
}

/** The window of a cell. */
export interface CellWindow {
  readonly sequence: number;
  readonly durationMs: number;
}

export interface SeenCounts {
  readonly foreign: number;
  readonly own: number;
}

export interface SeenLimits {
  readonly foreignLimit: number | null;
  readonly ownLimit: number | null;
}

/**
 * The identity of a process without an origin, or with one in its memory, begins with this: it ends with the process. Unless two names
 * share it, stores forget it after `LIFE_FORGOTTEN_MS`, so a process that crashes again and again does not fill them.
 */
export const LIFE_PREFIX = "life:";
export const LIFE_FORGOTTEN_MS = 600_000;
/** A pair is kept for at least this long after it was last registered, and then for as long as a row of it lives. */
export const NAME_FORGOTTEN_MS = 86_400_000;
/** Two names of one origin are in use at the same time if both were registered within this time: processes register every 10 s. */
export const NAME_LIVE_MS = 25_000;
/** A process writes rows of a window at most this long before the window begins by the store's clock: clocks differ by less. */
const CLOCKS_DIFFER_MS = 3_600_000;

interface Linked {
  readonly origins: Set<string>;
  count: number;
}

export class RegionNames {
  /** Only names that share an origin with another name. */
  readonly #byRegion = new Map<string, readonly RegionName[]>();
  /** By how many pairs the pairs exceed the origins: 0 if no origin has two names. */
  readonly surplus: number;
  /** The same for the same pairs, whenever they were registered. */
  readonly signature: string;

  constructor(pairs: Iterable<RegionName>) {
    const byOrigin = groupBy(pairs, ({ origin }) => origin);
    const byRegion = groupBy([...byOrigin.values()].flat(), ({ region }) => region);
    let surplus = 0;
    for (const names of byOrigin.values()) {
      surplus += names.length - 1;
      if (names.length > 1) for (const { region } of names) this.#byRegion.set(region, byRegion.get(region)!);
    }
    this.surplus = surplus;
    const linked = [...this.#byRegion.values()].flat().map(({ region, origin }) => JSON.stringify([region, origin]));
    this.signature = linked.sort().join();
  }

  /** Other names that share an origin with this one. */
  aliases(region: string): readonly string[] {
    const origins = new Set(this.#byRegion.get(region)?.map(({ origin }) => origin));
    const isAlias = (pairs: readonly RegionName[]) => pairs.some(({ origin }) => origins.has(origin));
    return [...this.#byRegion].filter(([name, pairs]) => name !== region && isAlias(pairs)).map(([name]) => name);
  }

  /**
   * The names that share an origin, as classes whose rows may be replaced by the largest of them: the names of one origin that never
   * had another one. A class is called after this region if it is in it. A name that had several origins is a class of its own.
   */
  classes(region: string): ReadonlyMap<string, readonly string[]> {
    const byOrigin = groupBy(this.#byRegion.keys(), (name) => {
      const pairs = this.#byRegion.get(name)!;
      return pairs.length === 1 ? `1/${pairs[0]!.origin}` : `2/${name}`;
    });
    return new Map([...byOrigin.values()].map((names) => [names.includes(region) ? region : names[0]!, names]));
  }

  /** What a cell's rows, by name, are to a region. */
  seenFrom(region: string, cell: CellWindow, rows: Iterable<readonly [name: string, count: number]>): SeenCounts {
    let own = 0;
    let foreign = 0;
    const linked: Linked[] = [];
    for (const [name, count] of rows) {
      if (name === region) own = Math.max(own, count);
      else if (!this.#byRegion.has(name)) foreign += count;
      else linked.push({ origins: this.#originsOf(name, cell), count });
    }
    if (linked.length === 0) return { foreign, own };
    const mine = this.#originsOf(region, cell);
    const others: Linked[] = [];
    for (const row of linked) {
      const shared = [...row.origins].filter((origin) => mine.has(origin)).length;
      if (shared === 0) others.push(row);
      // Not if this name had several origins: processes would go on from counts of an origin that they no longer use, and publish them
      // when nothing links the names any more.
      else if (shared === row.origins.size && mine.size === 1) own = Math.max(own, row.count);
    }
    for (const { count } of joined(others)) foreign += count;
    return { foreign, own };
  }

  /** What the denial rows of a cell, by name, are to a region: rows of any name that may be its own are not foreign. */
  deniedFrom(region: string, cell: CellWindow, rows: Iterable<readonly [name: string, limit: number]>): SeenLimits {
    let ownLimit: number | null = null;
    let foreignLimit: number | null = null;
    const mine = this.#originsOf(region, cell);
    for (const [name, limit] of rows) {
      const isOwn = name === region || [...this.#originsOf(name, cell)].some((origin) => mine.has(origin));
      if (isOwn) ownLimit = Math.max(ownLimit ?? limit, limit);
      else foreignLimit = Math.max(foreignLimit ?? limit, limit);
    }
    return { foreignLimit, ownLimit };
  }

  /** The origins whose counts a row of this name may contain in this cell. */
  #originsOf(name: string, { sequence, durationMs }: CellWindow): Set<string> {
    const pairs = this.#byRegion.get(name) ?? [];
    const sinceMs = sequence * durationMs - CLOCKS_DIFFER_MS;
    const recent = pairs.length === 1 ? pairs : pairs.filter(({ seenAtMs }) => seenAtMs >= sinceMs);
    return new Set((recent.length === 0 ? pairs : recent).map(({ origin }) => origin));
  }
}

export const NO_NAMES: RegionNames = new RegionNames([]);

/** Rows that have an origin in common, directly or through others, as one: with the largest count. */
function joined(rows: readonly Linked[]): readonly Linked[] {
  let groups: Linked[] = [];
  for (const { origins, count } of rows) {
    const group = { origins: new Set(origins), count };
    const apart: Linked[] = [];
    for (const other of groups) {
      if (![...other.origins].some((origin) => origins.has(origin))) {
        apart.push(other);
        continue;
      }
      for (const origin of other.origins) group.origins.add(origin);
      group.count = Math.max(group.count, other.count);
    }
    groups = [...apart, group];
  }
  return groups;
}

function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
