/**
 * The cells of an origin in memory, bounded in number and in bytes.
 *
 * A full store forgets a cell that has expired, or else, of the next few in turn, one that was not raised recently, with the lowest sum,
 * longest unraised. That is safe: the process that counted it raises its total again when the cell is next raised or read there, as with a
 * Redis that evicts. Until then the others see a lower count. What the layers keep for themselves (heartbeats, the origin's identity) stays:
 * a missing heartbeat would make every process replay everything.
 *
 * Every cell has a share of the bytes, as the names of a limiter have (engine/name-budget.ts). Cells that exceed it are kept apart, and
 * for bytes they go first: cells with short names cannot be pushed out by long ones.
 */
import { COUNT_MAX } from "../core/bounds.ts";
import { detach } from "../core/part.ts";
import { textBytes } from "../engine/name-budget.ts";
import { SharedTexts } from "../engine/shared-texts.ts";
import type { OriginCount } from "./origin.ts";

export class MemoryCell {
  sum: number;
  expiresAtMs: number;
  /** The number of the last raise. */
  raisedAt: number;
  /** The first component, which most cells have alone, and all others. */
  readonly #writer: string;
  #total: number;
  #more: Map<string, number> | null = null;

  constructor(writer: string, total: number, expiresAtMs: number, raisedAt: number) {
    this.#writer = writer;
    this.#total = total;
    this.sum = total;
    this.expiresAtMs = expiresAtMs;
    this.raisedAt = raisedAt;
  }

  component(writer: string): number {
    return writer === this.#writer ? this.#total : (this.#more?.get(writer) ?? 0);
  }

  /** Raises a component to `total` if it is lower. Returns how many bytes that takes. */
  raise(writer: string, total: number): number {
    const before = this.component(writer);
    if (total <= before) return 0;
    this.sum = Math.min(COUNT_MAX, this.sum + total - before);
    if (writer === this.#writer) {
      this.#total = total;
      return 0;
    }
    const isFirst = this.#more === null;
    this.#more ??= new Map();
    const isNew = !this.#more.has(writer);
    this.#more.set(writer, total);
    return (isFirst ? MAP_BYTES : 0) + (isNew ? COMPONENT_BYTES : 0);
  }

  get bytes(): number {
    return CELL_BYTES + (this.#more === null ? 0 : MAP_BYTES + COMPONENT_BYTES * this.#more.size);
  }
}

/** Measured on 64-bit V8: a cell with one component and its place, without its name's text. */
const CELL_BYTES = 216;
/** Further components: their map, and each of them with a writer id of its own. */
const MAP_BYTES = 200;
const COMPONENT_BYTES = 100;

/** Bytes for each cell: its name, and what it holds. */
export const CELL_SHARE_BYTES = 320;
/** A `Map` throws at 2^24 entries. */
const CELLS_MAX = 16_000_000;

/** How many evictable cells are compared to choose one, and how many cells are examined at most to find them. */
const SAMPLE = 8;
const REACH = 64;
/** Raises since a cell's last one, as a part of the number of cells, that make it one that was not raised recently. */
const RECENT = 1 / 2;

/** Cells of one class, and where the last look at them ended. */
class CellClass {
  readonly cells = new Map<string, MemoryCell>();
  #hand: Iterator<[string, MemoryCell]> = this.cells.entries();

  /** The next cell in turn; undefined at the end, after which the first follows. */
  next(): [string, MemoryCell] | undefined {
    const { value, done } = this.#hand.next();
    if (done !== true) return value;
    this.#hand = this.cells.entries();
    return undefined;
  }
}

export class MemoryCells {
  /** What all cells take. */
  bytes = 0;
  evicted = 0;
  readonly cellsMax: number;
  readonly bytesMax: number;
  readonly #small = new CellClass();
  readonly #large = new CellClass();
  readonly #writers = new SharedTexts();
  #raises = 0;

  constructor(cellsMax: number) {
    this.cellsMax = Math.min(cellsMax, CELLS_MAX);
    this.bytesMax = this.cellsMax * CELL_SHARE_BYTES;
  }

  get size(): number {
    return this.#small.cells.size + this.#large.cells.size;
  }

  /** The cell of this name, unless it has expired. */
  live(name: string, nowMs: number): MemoryCell | undefined {
    const from = this.#classOf(name);
    const cell = from.cells.get(name);
    if (cell === undefined || cell.expiresAtMs > nowMs) return cell;
    this.#delete(from, name, cell);
    return undefined;
  }

  raise(name: string, writer: string, total: number, expiresAtMs: number, nowMs: number): MemoryCell {
    const raisedAt = ++this.#raises;
    while (this.bytes >= this.bytesMax && this.#evict(this.#large.cells.size > 0 ? this.#large : this.#small, nowMs));
    const known = this.live(name, nowMs);
    if (known !== undefined) {
      this.bytes += known.raise(this.#writers.share(writer), total);
      known.raisedAt = raisedAt;
      known.expiresAtMs = Math.max(known.expiresAtMs, expiresAtMs);
      return known;
    }
    const larger = this.#small.cells.size >= this.#large.cells.size ? this.#small : this.#large;
    if (this.size >= this.cellsMax) this.#evict(larger, nowMs);
    const cell = new MemoryCell(this.#writers.share(writer), total, expiresAtMs, raisedAt);
    this.#classOf(name).cells.set(detach(name), cell);
    this.bytes += cell.bytes + textBytes(name);
    return cell;
  }

  /** Raises a component that is below `total`. Otherwise it writes nothing: a denial of an unknown key makes no cell. */
  raiseTo(name: string, writer: string, total: number, expiresAtMs: number, nowMs: number): MemoryCell | undefined {
    const cell = this.live(name, nowMs);
    if (total <= (cell?.component(writer) ?? 0)) return cell;
    return this.raise(name, writer, total, expiresAtMs, nowMs);
  }

  /** Looks at the next `count` cells of either class, and forgets those that have expired. */
  sweepOnce(nowMs: number, count: number): void {
    this.#sweep(this.#small, nowMs, count);
    this.#sweep(this.#large, nowMs, count);
  }

  #sweep(from: CellClass, nowMs: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const found = from.next();
      if (found === undefined) return;
      if (found[1].expiresAtMs <= nowMs) this.#delete(from, ...found);
    }
  }

  /** Forgets the cell that matters least of the next few; false if none of them may go. */
  #evict(from: CellClass, nowMs: number): boolean {
    let victim: [string, MemoryCell] | undefined;
    let seen = 0;
    for (let i = 0; i < REACH && seen < SAMPLE; i++) {
      const found = from.next();
      if (found === undefined || isOfLayers(found[0])) continue;
      seen++;
      if (victim === undefined || this.#isBetter(found[1], victim[1], nowMs)) victim = found;
    }
    if (victim === undefined) return false;
    this.#delete(from, ...victim);
    this.evicted++;
    return true;
  }

  /** Whether forgetting one cell costs less than forgetting the best so far. */
  #isBetter(cell: MemoryCell, best: MemoryCell, nowMs: number): boolean {
    const rankOf = ({ expiresAtMs, raisedAt }: MemoryCell) => {
      if (expiresAtMs <= nowMs) return 0;
      return this.#raises - raisedAt >= this.size * RECENT ? 1 : 2;
    };
    const [own, other] = [rankOf(cell), rankOf(best)];
    if (own !== other) return own < other;
    return cell.sum < best.sum || (cell.sum === best.sum && cell.raisedAt < best.raisedAt);
  }

  #delete(from: CellClass, name: string, cell: MemoryCell): void {
    from.cells.delete(name);
    this.bytes -= cell.bytes + textBytes(name);
  }

  #classOf(name: string): CellClass {
    return CELL_BYTES + textBytes(name) > CELL_SHARE_BYTES ? this.#large : this.#small;
  }
}

export function cellName(key: string, sequence: number): string {
  return `${sequence}/${key}`;
}

export function countOf(cell: MemoryCell | undefined, writer: string): OriginCount {
  return { sum: cell?.sum ?? 0, component: cell?.component(writer) ?? 0 };
}

/** Whether a cell belongs to a layer, not to a client: keys of limits begin with a digit, those of heartbeats and of the origin's identity do not. */
function isOfLayers(name: string): boolean {
  const first = name.charCodeAt(name.indexOf("/") + 1);
  return !(first >= 0x30 && first <= 0x39);
}
