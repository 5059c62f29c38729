/**
 * The row budget: how many rows of this region the global store may hold, by workspace and by namespace.
 *
 * A caller who invents identifiers makes one row per identifier, and a row of a long window stays for weeks. So a row that is
 * new to the store is published only while its workspace and its namespace have room. A row that is not published is only an
 * unknown count in the other regions: more excess, never a false denial. Rows that the store has already may always rise.
 *
 * What the store holds is counted in every full pass of the import, and what was added since that pass began is on top. So the
 * count includes the rows of the region's other processes and of earlier lives of this one, and expired rows leave it. A row
 * that was published during a pass may be counted twice until the next pass.
 *
 * Bounded by the rows themselves: a namespace is held here only while the region has a row of it. It sends nothing.
 */
import type { Key } from "../engine/key.ts";

export interface RowCaps {
  readonly namespaceRowsMax: number;
  readonly workspaceRowsMax: number;
}

/** The part of a page that is counted. */
interface CountedPage {
  readonly cells: readonly { readonly key: Key; readonly own: number }[];
  readonly rest?: string;
  readonly isAll?: true;
}

/** The rows of one workspace or one namespace. */
class Holding {
  /** What the last full pass found, and what was added since it began. */
  found = 0;
  added = 0;
  /** The same of the pass under way. */
  finding = 0;
  adding = 0;
  /** Rows on their way to the store: a pass that begins now may not find them. */
  underWay = 0;
  /** Whether a row was refused, and too little room was freed since. */
  isFull = false;

  get rows(): number {
    return this.found + this.added;
  }
}

interface WorkspaceHolding {
  readonly all: Holding;
  readonly namespaces: Map<string, Holding>;
}

/** Below this part of a maximum, rows are taken in the order in which they come; above it, those nearest to their limit first. */
const AMPLE_PART = 1 / 2;
/** Refused keys are examined again when this part of a maximum is free. */
const FREED_PART = 1 / 16;

export class RowBudget {
  readonly #caps: RowCaps;
  readonly #workspaces = new Map<string, WorkspaceHolding>();
  /** Where the full pass under way goes on; undefined if none is under way. */
  #rest: string | undefined;
  #hasFreed = false;
  /** How often a row was refused: a key counts each time it is examined. */
  refused = 0;
  /** Whose row was refused last. */
  refusedKey: Pick<Key, "workspace" | "namespace"> | null = null;

  constructor(caps: RowCaps) {
    this.#caps = caps;
  }

  /** Rows of this region that the store holds, as far as is known here. */
  get rows(): number {
    let sum = 0;
    for (const { all } of this.#workspaces.values()) sum += all.rows;
    return sum;
  }

  /** Workspaces and namespaces of which rows were refused, and too little room was freed since. */
  get full(): number {
    let sum = 0;
    for (const { all, namespaces } of this.#workspaces.values()) {
      if (all.isFull) sum++;
      for (const holding of namespaces.values()) if (holding.isFull) sum++;
    }
    return sum;
  }

  /** Whether there is so much room that the order in which rows are taken does not matter. */
  isAmple({ workspace, namespace }: Key): boolean {
    const { namespaceRowsMax, workspaceRowsMax } = this.#caps;
    const held = this.#workspaces.get(workspace);
    if (held === undefined) return true;
    const inNamespace = held.namespaces.get(namespace)?.rows ?? 0;
    return inNamespace < namespaceRowsMax * AMPLE_PART && held.all.rows < workspaceRowsMax * AMPLE_PART;
  }

  /** Takes room for one new row, which is then `written` or given back. False if there is none. */
  take(key: Key): boolean {
    const { namespaceRowsMax, workspaceRowsMax } = this.#caps;
    const { all, namespace } = this.#holdingsOf(key);
    if (all.rows >= workspaceRowsMax) all.isFull = true;
    else if (namespace.rows >= namespaceRowsMax) namespace.isFull = true;
    else {
      for (const holding of [all, namespace]) {
        holding.added++;
        holding.adding++;
        holding.underWay++;
      }
      return true;
    }
    this.refused++;
    this.refusedKey = key;
    return false;
  }

  written(key: Key): void {
    const { all, namespace } = this.#holdingsOf(key);
    all.underWay--;
    namespace.underWay--;
  }

  /** The row was not written, as far as is known. */
  giveBack(key: Key): void {
    const { all, namespace } = this.#holdingsOf(key);
    for (const holding of [all, namespace]) {
      holding.underWay--;
      holding.added = Math.max(0, holding.added - 1);
      holding.adding = Math.max(0, holding.adding - 1);
    }
  }

  /** Whether room was freed for keys that were refused, since this was last asked. */
  takeFreed(): boolean {
    const hasFreed = this.#hasFreed;
    this.#hasFreed = false;
    return hasFreed;
  }

  /** A full pass is about to begin: rows that are added from now on may be missing in what it reads. */
  passBegins(): void {
    this.#rest = undefined;
    this.#forEach((holding) => {
      holding.finding = 0;
      holding.adding = holding.underWay;
    });
  }

  /** Counts a page that was read. Pages of changes are left out: they do not say what there is. */
  passed(cursor: string | null, page: CountedPage): void {
    if (page.isAll === true) this.passBegins();
    else if (cursor !== null && cursor !== this.#rest) return;
    for (const { key, own } of page.cells) {
      if (own <= 0) continue;
      const { all, namespace } = this.#holdingsOf(key);
      all.finding++;
      namespace.finding++;
    }
    this.#rest = page.rest;
    if (page.rest === undefined) this.#passEnds();
  }

  #passEnds(): void {
    const { namespaceRowsMax, workspaceRowsMax } = this.#caps;
    const settle = (holding: Holding, max: number) => {
      holding.found = holding.finding;
      holding.added = holding.adding;
      if (!holding.isFull || max - holding.rows < max * FREED_PART) return;
      holding.isFull = false;
      this.#hasFreed = true;
    };
    for (const [name, { all, namespaces }] of this.#workspaces) {
      settle(all, workspaceRowsMax);
      for (const [inner, holding] of namespaces) {
        settle(holding, namespaceRowsMax);
        if (holding.rows + holding.underWay === 0) namespaces.delete(inner);
      }
      if (all.rows + all.underWay === 0) this.#workspaces.delete(name);
    }
  }

  #forEach(work: (holding: Holding) => void): void {
    for (const { all, namespaces } of this.#workspaces.values()) {
      work(all);
      for (const holding of namespaces.values()) work(holding);
    }
  }

  #holdingsOf({ workspace, namespace }: Key): { readonly all: Holding; readonly namespace: Holding } {
    let held = this.#workspaces.get(workspace);
    if (held === undefined) {
      held = { all: new Holding(), namespaces: new Map() };
      this.#workspaces.set(workspace, held);
    }
    let holding = held.namespaces.get(namespace);
    if (holding === undefined) {
      holding = new Holding();
      held.namespaces.set(namespace, holding);
    }
    return { all: held.all, namespace: holding };
  }
}
