/**
 * The holds of an origin in memory: the rules of hold.ts in maps, and the model of what a driver must do.
 *
 * ```
 *  key ──▶ living: id ▶ deadline, cost      their cost and the time of the next scan are kept beside them
 *          expired: id ▶ deadline, cost     for an hour; as many as there may be living ones
 *  bucket of 10 minutes ──▶ key ──▶ id ▶ what was counted, or RELEASED
 * ```
 * Bounded: `holdsMax` per key, and HOLDS_MAX and ENDED_ALL_MAX over all keys; beyond that a hold is refused as `full`. Nothing evicts a living
 * hold. Its life never changes, so the total that a caller knows is always accepted.
 */
import { COUNT_MAX } from "../core/bounds.ts";
import { detach } from "../core/part.ts";
import { share } from "../engine/sliding-window.ts";
import type { Free, Freed, FreedItem, Held, HeldItem, Hold, HoldCode, HoldItem, KeyHolds } from "./hold.ts";
import * as rules from "./hold.ts";
import { cellName, countOf, type MemoryCells } from "./memory-cells.ts";
import type { OriginCount } from "./origin.ts";

/** Living and expired holds of all keys: about 200 bytes each. */
const HOLDS_MAX = 1_000_000;
/** Ended holds of all keys in one bucket. */
const ENDED_ALL_MAX = 1_000_000;
/** Keys looked at for expired holds on every call. */
const SWEEP_PER_CALL = 4;
/** An ended hold that counted nothing because it was released. */
const RELEASED = -1;

interface Record {
  readonly deadlineMs: number;
  readonly cost: number;
}

class KeyRecord {
  cost = 0;
  /** No living hold expires before this. */
  dueMs: number = Number.POSITIVE_INFINITY;
  version = 0;
  readonly living = new Map<string, Record>();
  readonly expired = new Map<string, Record>();

  get isEmpty(): boolean {
    return this.living.size === 0 && this.expired.size === 0;
  }

  get seen(): KeyHolds {
    const { cost, version } = this;
    return { cost, earliestMs: this.living.size === 0 ? 0 : this.dueMs, version };
  }

  add(id: string, deadlineMs: number, cost: number): void {
    this.cost += cost - (this.living.get(id)?.cost ?? 0);
    this.living.set(id, { deadlineMs, cost });
    this.dueMs = Math.min(this.dueMs, deadlineMs);
  }

  /** Takes the hold out. Returns undefined if there is none. */
  take(id: string): Record | undefined {
    const found = this.living.get(id);
    if (found !== undefined) this.cost -= found.cost;
    const record = found ?? this.expired.get(id);
    this.living.delete(id);
    this.expired.delete(id);
    return record;
  }

  /** Moves holds whose deadline has passed to the expired ones, and forgets those of more than an hour ago. Whether anything changed. */
  expire(nowMs: number, keptMax: number): boolean {
    if (this.living.size > 0 && nowMs < this.dueMs) return false;
    let hasChanged = false;
    for (const [id, { deadlineMs }] of this.expired) {
      if (deadlineMs + rules.EXPIRED_KEPT_MS <= nowMs) hasChanged = this.expired.delete(id);
    }
    this.dueMs = Number.POSITIVE_INFINITY;
    for (const [id, record] of this.living) {
      if (record.deadlineMs > nowMs) {
        this.dueMs = Math.min(this.dueMs, record.deadlineMs);
        continue;
      }
      hasChanged = true;
      this.take(id);
      if (this.expired.size < keptMax) this.expired.set(id, record);
    }
    return hasChanged;
  }
}

/** An item of a call, with what it found. */
interface Found {
  readonly item: HoldItem;
  readonly current: OriginCount;
  readonly previous: OriginCount;
  readonly record: KeyRecord;
  code: HoldCode;
}

export class MemoryHolds {
  readonly #cells: MemoryCells;
  readonly #keys = new Map<string, KeyRecord>();
  /** Bucket → key → id → what was counted. */
  readonly #ended = new Map<number, Map<string, Map<string, number>>>();
  #endedInBucket = 0;
  #bucket = 0;
  #size = 0;
  #lastVersion = 0;
  #hand: Iterator<[string, KeyRecord]> = this.#keys.entries();

  constructor(cells: MemoryCells) {
    this.#cells = cells;
  }

  /** Living and expired holds. */
  get size(): number {
    return this.#size;
  }

  /** The living holds of a key as of now; undefined if it has none. */
  seen(key: string, nowMs: number): KeyHolds | undefined {
    const record = this.#keys.get(key);
    if (record === undefined) return undefined;
    this.#expire(key, record, nowMs, record.living.size);
    return record.living.size === 0 ? undefined : record.seen;
  }

  hold(hold: Hold, nowMs: number): Held {
    const { id, byMs, items } = hold;
    const isLook = id === "";
    this.#sweepOnce(nowMs);
    if (!isLook && (byMs < nowMs || byMs > nowMs + rules.HOLD_BY_MAX_MS)) return { nowMs, code: "stale" };
    const isOfNow = items.every(({ durationMs, sequence }) => Math.floor(nowMs / durationMs) === sequence);
    if (!isLook && !isOfNow) return { nowMs, code: "window" };
    const found = items.map((item) => this.#find(item, hold.holdsMax, nowMs));
    if (!isLook) this.#decide(found, hold, nowMs);
    const answers = found.map((one) => answerOf(one, one.record.living.get(id)?.deadlineMs ?? 0));
    for (const { item, record } of found) if (record.isEmpty) this.#keys.delete(item.key);
    return { nowMs, code: "done", items: answers };
  }

  /** All items are held, or none. */
  #decide(found: readonly Found[], hold: Hold, nowMs: number): void {
    const asked = new Map<KeyRecord, number>();
    for (const one of found) {
      const cost = (asked.get(one.record) ?? 0) + one.item.cost;
      asked.set(one.record, cost);
      one.code = this.#codeOf(one, hold, cost, nowMs);
    }
    const isRefused = found.some(({ code }) => !isGrant(code));
    for (const one of found) {
      if (!isRefused) this.#record(one.record, hold, asked.get(one.record)!, nowMs);
      else if (isGrant(one.code)) one.code = "fits";
    }
  }

  free(frees: readonly Free[], nowMs: number): Freed {
    this.#sweepOnce(nowMs);
    const isOfNow = frees.every(({ durationMs, sequence }) => Math.floor(nowMs / durationMs) === sequence);
    if (!isOfNow) return { nowMs, code: "window" };
    return { nowMs, code: "done", items: frees.map((free) => this.#free(free, nowMs)) };
  }

  #find(item: HoldItem, holdsMax: number, nowMs: number): Found {
    const { key, sequence, durationMs, writer } = item;
    const raised = (at: number, total: number) => {
      const expiresAtMs = (at + 2) * durationMs;
      return countOf(this.#cells.raiseTo(cellName(key, at), writer, total, expiresAtMs, nowMs), writer);
    };
    const current = raised(sequence, item.total);
    const previous = raised(sequence - 1, item.previousTotal);
    let record = this.#keys.get(key);
    if (record === undefined) {
      record = new KeyRecord();
      this.#keys.set(detach(key), record);
    } else this.#expire(key, record, nowMs, holdsMax, false);
    return { item, current, previous, record, code: "looked" };
  }

  #codeOf({ item, current, previous, record }: Found, hold: Hold, cost: number, nowMs: number): HoldCode {
    const { id, holdsMax } = hold;
    const { key, limit, sequence, durationMs } = item;
    const had = record.living.get(id)?.cost ?? 0;
    if (record.expired.has(id) || this.#endedAs(key, id, nowMs) !== undefined) return "ended";
    if (record.living.has(id) && cost <= had) return "again";
    const before = Math.min(COUNT_MAX, Math.max(previous.sum, item.previousKnown) + item.previousForeign);
    const leftMs = (sequence + 1) * durationMs - nowMs;
    const count = Math.max(current.sum, item.known) + item.foreign + share(before, leftMs, durationMs);
    if (count + cost > limit) return "limit";
    if (count + record.cost + cost - had + item.heldInMemory > limit) return "reserved";
    const isNew = !record.living.has(id);
    const isFull = record.living.size >= holdsMax || this.#size >= HOLDS_MAX || this.#endedInBucket >= ENDED_ALL_MAX;
    return isNew && isFull ? "full" : "granted";
  }

  #record(record: KeyRecord, { id, ttlMs }: Hold, cost: number, nowMs: number): void {
    const held = record.living.get(id);
    if (held !== undefined && cost <= held.cost) return;
    if (held === undefined) this.#size++;
    record.add(detach(id), Math.max(held?.deadlineMs ?? 0, rules.deadlineOf(nowMs, ttlMs)), cost);
    this.#change(record, nowMs);
  }

  #free(free: Free, nowMs: number): FreedItem {
    const { key, sequence, id, verb, writer } = free;
    const record = this.#keys.get(key) ?? new KeyRecord();
    this.#expire(key, record, nowMs, Math.max(record.living.size, record.expired.size));
    const held = record.living.get(id) ?? record.expired.get(id);
    const isLate = record.expired.has(id);
    const name = cellName(key, sequence);
    let code: FreedItem["code"] = "unknown";
    let counted = 0;
    let deadlineMs = held?.deadlineMs ?? 0;
    if (held !== undefined && verb === "renew") {
      code = isLate ? "expired" : "renewed";
      deadlineMs = isLate ? deadlineMs : Math.max(deadlineMs, rules.deadlineOf(nowMs, free.ttlMs));
      if (!isLate) record.add(id, deadlineMs, held.cost);
    } else if (held !== undefined) {
      code = verb === "settle" ? (isLate ? "late" : "settled") : "released";
      counted = verb === "settle" ? free.actual : 0;
      if (verb === "settle") this.#count(free, nowMs);
      record.take(id);
      this.#size--;
      this.#bury(key, id, verb === "settle" ? free.actual : RELEASED, nowMs);
      this.#change(record, nowMs);
    } else {
      const ended = this.#endedAs(key, id, nowMs);
      if (ended !== undefined) {
        code = ended === RELEASED ? "released-before" : "settled-before";
        counted = Math.max(0, ended);
      } else if (verb === "cancel") {
        code = "released";
        this.#bury(key, id, RELEASED, nowMs);
      }
    }
    const current = countOf(this.#cells.live(name, nowMs), writer);
    const { seen: holds } = record;
    if (record.isEmpty) this.#keys.delete(key);
    return { code, counted, deadlineMs, current, holds };
  }

  /** Counts a settlement. A component of 0 is none: a settlement of 0 makes no cell. */
  #count({ key, sequence, durationMs, writer, known, actual }: Free, nowMs: number): void {
    const name = cellName(key, sequence);
    const from = Math.max(known, countOf(this.#cells.live(name, nowMs), writer).component);
    const total = Math.min(rules.SETTLED_MAX, from + actual);
    this.#cells.raiseTo(name, writer, total, (sequence + 2) * durationMs, nowMs);
  }

  #expire(key: string, record: KeyRecord, nowMs: number, keptMax: number, mayForget = true): void {
    const before = record.living.size + record.expired.size;
    if (record.expire(nowMs, keptMax)) this.#change(record, nowMs);
    this.#size -= before - record.living.size - record.expired.size;
    if (mayForget && record.isEmpty) this.#keys.delete(key);
  }

  /** Monotonic even if the key's record is forgotten and made again. */
  #change(record: KeyRecord, nowMs: number): void {
    this.#lastVersion = Math.max(this.#lastVersion + 1, nowMs * 1_000);
    record.version = this.#lastVersion;
  }

  #endedAs(key: string, id: string, nowMs: number): number | undefined {
    const bucket = rules.bucketAt(nowMs);
    return (
      this.#ended.get(bucket)?.get(key)?.get(id) ??
      this.#ended
        .get(bucket - 1)
        ?.get(key)
        ?.get(id)
    );
  }

  #bury(key: string, id: string, counted: number, nowMs: number): void {
    this.#turn(nowMs);
    let keys = this.#ended.get(this.#bucket);
    if (keys === undefined) {
      keys = new Map();
      this.#ended.set(this.#bucket, keys);
    }
    let ids = keys.get(key);
    if (ids === undefined) {
      ids = new Map();
      keys.set(detach(key), ids);
    }
    ids.set(detach(id), counted);
    this.#endedInBucket++;
  }

  /** Forgets the buckets that are over. */
  #turn(nowMs: number): void {
    const bucket = rules.bucketAt(nowMs);
    if (bucket === this.#bucket) return;
    this.#bucket = bucket;
    this.#endedInBucket = 0;
    for (const one of this.#ended.keys()) if (one < bucket - 1 || one > bucket) this.#ended.delete(one);
  }

  #sweepOnce(nowMs: number): void {
    this.#turn(nowMs);
    for (let i = 0; i < SWEEP_PER_CALL; i++) {
      const { value, done } = this.#hand.next();
      if (done === true) {
        this.#hand = this.#keys.entries();
        return;
      }
      this.#expire(value[0], value[1], nowMs, value[1].living.size + value[1].expired.size);
    }
  }
}

function isGrant(code: HoldCode): boolean {
  return code === "granted" || code === "again";
}

function answerOf({ code, current, previous, record }: Found, deadlineMs: number): HeldItem {
  return { code, deadlineMs, current, previous, holds: record.seen };
}
