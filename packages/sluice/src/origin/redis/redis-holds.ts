/**
 * `hold` and `free` on Redis: what the port asks for, as calls of the scripts hold.lua and free.lua.
 *
 * All items on one server are one command, and happen in one step. In a Cluster there is one command per hash slot: for a reservation
 * **one after the other in the order of the slots**, so that of two lists that compete only with each other one is granted; looks and
 * frees, which do not compete, go out together. After a refusal the items of later slots are not asked for. Cancelling what was granted
 * before is up to the caller (origin/reservations.ts), which knows the id.
 */
import {
  bucketAt,
  ENDED_MAX,
  type Free,
  type FreeCode,
  type Freed,
  type FreedItem,
  type Held,
  type HeldItem,
  type Hold,
  type HoldCode,
  type HoldItem,
  type NotDone,
} from "../hold.ts";
import { componentField, type RedisCellNames } from "./cell.ts";
import { failureOf, RedisFailure } from "./failure.ts";
import { execute, type OutboxListener } from "./outbox.ts";
import type { RedisRoute } from "./route.ts";
import { afterMark, numberOf, type Script, type ScriptCall, scriptOf } from "./script.ts";
import freeText from "./scripts/free.lua";
import holdText from "./scripts/hold.lua";

const HOLD = scriptOf(holdText);
const FREE = scriptOf(freeText);

/** Values per item in an answer of hold.lua, and of free.lua. */
const HELD_WIDTH = 9;
const FREED_WIDTH = 8;

const HOLD_CODES: ReadonlySet<unknown> = new Set<HoldCode>([
  "granted",
  "again",
  "fits",
  "limit",
  "reserved",
  "full",
  "ended",
  "looked",
]);
const FREE_CODES: ReadonlySet<unknown> = new Set<FreeCode>([
  "settled",
  "late",
  "released",
  "renewed",
  "settled-before",
  "released-before",
  "expired",
  "unknown",
]);

/** Items of one command, with their places in the call. */
interface Group<Item> {
  readonly items: Item[];
  readonly places: number[];
}

type Answered<Answer> = { readonly nowMs: number; readonly code: NotDone | "done"; readonly items: readonly Answer[] };

export class RedisHolds {
  readonly #names: RedisCellNames;
  readonly #route: RedisRoute;
  readonly #listener: OutboxListener;
  #mark = 0;

  constructor(names: RedisCellNames, route: RedisRoute, listener: OutboxListener) {
    this.#names = names;
    this.#route = route;
    this.#listener = listener;
  }

  async hold(hold: Hold): Promise<Held> {
    const groups = this.#groups(hold.items);
    if (hold.id === "" || groups.length === 1) return this.#together(groups, hold);
    const items: (HeldItem | null)[] = hold.items.map(() => null);
    let nowMs = 0;
    for (const group of groups) {
      const answer: Answered<HeldItem> | null = await this.#holdGroup(group, hold).catch((error: unknown) => {
        // Nothing was granted before: the caller learns why.
        if (group === groups[0]) throw error;
        return null;
      });
      if (answer === null) break;
      nowMs = answer.nowMs;
      if (answer.code !== "done") {
        return group === groups[0] ? { nowMs, code: answer.code } : { nowMs, code: answer.code, isPartial: true };
      }
      group.places.forEach((place, i) => {
        items[place] = answer.items[i]!;
      });
      if (!answer.items.every(({ code }) => code === "granted" || code === "again")) {
        return { nowMs, code: "done", items: items.map((item) => item ?? UNTRIED) };
      }
    }
    return { nowMs, code: "done", items };
  }

  async free(frees: readonly Free[], atMs: number): Promise<Freed> {
    const groups = this.#groups(frees);
    const answers = await settledAll(groups, (group) => this.#freeGroup(group, atMs));
    const items: (FreedItem | null)[] = frees.map(() => null);
    let nowMs = 0;
    groups.forEach(({ places }, g) => {
      const answer = answers[g];
      if (answer === null || answer === undefined) return;
      nowMs = answer.nowMs;
      places.forEach((place, i) => {
        items[place] = answer.items[i] ?? null;
      });
    });
    if (answers.every((answer) => answer?.code === "window")) return { nowMs, code: "window" };
    return { nowMs, code: "done", items };
  }

  /** Groups that do not compete: looks, and the only group of a reservation. */
  async #together(groups: readonly Group<HoldItem>[], hold: Hold): Promise<Held> {
    const answers = await settledAll(groups, (group) => this.#holdGroup(group, hold));
    const items: (HeldItem | null)[] = hold.items.map(() => null);
    let nowMs = 0;
    for (const [g, { places }] of groups.entries()) {
      const answer = answers[g];
      if (answer === null || answer === undefined) continue;
      if (answer.code !== "done") return { nowMs: answer.nowMs, code: answer.code };
      nowMs = answer.nowMs;
      places.forEach((place, i) => {
        items[place] = answer.items[i]!;
      });
    }
    return { nowMs, code: "done", items };
  }

  async #holdGroup({ items }: Group<HoldItem>, hold: Hold): Promise<Answered<HeldItem>> {
    const { id, ttlMs, byMs, holdsMax } = hold;
    const bucket = bucketAt(hold.atMs);
    const keys = items.flatMap((item) => this.#keysOf(item, bucket));
    const args = [bucket, id, ttlMs, byMs, holdsMax, ENDED_MAX, ...items.flatMap(argsOf)].map(String);
    const answer = await this.#run(HOLD, keys, args);
    return readAnswer(answer, items.length, HELD_WIDTH, heldOf);
  }

  async #freeGroup({ items }: Group<Free>, atMs: number): Promise<Answered<FreedItem>> {
    const bucket = bucketAt(atMs);
    const keys = items.flatMap((item) => this.#keysOf(item, bucket));
    const args = items.flatMap(({ durationMs, sequence, id, verb, actual, ttlMs, writer, known }) =>
      [durationMs, sequence, id, verb, actual, ttlMs, componentField(writer), known].map(String),
    );
    const answer = await this.#run(FREE, keys, [String(bucket), ...args]);
    return readAnswer(answer, items.length, FREED_WIDTH, freedOf);
  }

  /** What follows the mark of the answer. */
  async #run(script: Script, keys: readonly string[], args: readonly string[]): Promise<readonly unknown[]> {
    const call: ScriptCall = { script, mark: String(++this.#mark), keys, args };
    try {
      const answer = await execute(call, this.#route, this.#listener);
      return afterMark(answer, call.mark);
    } catch (error) {
      const failure = failureOf(error);
      if (failure.kind === "junk") this.#route.distrust(keys[0]!, failure);
      this.#listener.failed(failure);
      throw failure;
    }
  }

  #keysOf({ key, sequence }: { readonly key: string; readonly sequence: number }, bucket: number): string[] {
    const names = this.#names;
    const cells = [names.of(key, sequence), names.of(key, sequence - 1)];
    return [...cells, names.holds(key), names.ended(key, bucket), names.ended(key, bucket - 1)];
  }

  /** In the order of the slots, which is the same for every list. */
  #groups<Item extends { readonly key: string; readonly sequence: number }>(items: readonly Item[]): Group<Item>[] {
    const groups = new Map<number | null, Group<Item>>();
    items.forEach((item, i) => {
      const slot = this.#route.groupOf(this.#names.of(item.key, item.sequence));
      const group = groups.get(slot) ?? { items: [], places: [] };
      group.items.push(item);
      group.places.push(i);
      groups.set(slot, group);
    });
    return [...groups].sort(([a], [b]) => Number(a) - Number(b)).map(([, group]) => group);
  }
}

function argsOf(item: HoldItem): readonly (string | number)[] {
  const { durationMs, sequence, limit, cost, writer, total, previousTotal, known, previousKnown } = item;
  const { foreign, previousForeign, heldInMemory } = item;
  const totals = [total, previousTotal, known, previousKnown, foreign, previousForeign, heldInMemory];
  return [durationMs, sequence, limit, cost, componentField(writer), ...totals];
}

/** The answers of all groups, null where one failed; rejects if all did. */
async function settledAll<G, Answer>(
  groups: readonly G[],
  ask: (group: G) => Promise<Answer>,
): Promise<(Answer | null)[]> {
  const outcomes = await Promise.allSettled(groups.map(ask));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed !== undefined && outcomes.every(({ status }) => status === "rejected")) throw failed.reason;
  return outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : null));
}

const NOTHING = { sum: 0, component: 0 };
/** An item of a later slot than the one that refused: it was not asked for, so nothing is known of its key. */
const UNTRIED: HeldItem = {
  code: "fits",
  deadlineMs: 0,
  current: NOTHING,
  previous: NOTHING,
  holds: { cost: 0, earliestMs: 0, version: 0 },
};

function readAnswer<Answer>(
  [now, ...rest]: readonly unknown[],
  count: number,
  width: number,
  itemOf: (values: readonly unknown[]) => Answer | null,
): Answered<Answer> {
  const nowMs = numberOf(now);
  if (rest.length === 1 && (rest[0] === "stale" || rest[0] === "window")) return { nowMs, code: rest[0], items: [] };
  // The script caught an error of Redis, and nothing of the call was recorded after it.
  if (rest.length === 1 && typeof rest[0] === "string") throw failureOf(new Error(rest[0]));
  const items = Array.from({ length: count }, (_, i) => itemOf(rest.slice(width * i, width * (i + 1))));
  if (Number.isNaN(nowMs) || rest.length !== width * count || items.includes(null)) {
    throw new RedisFailure("junk", "an invalid answer about holds");
  }
  return { nowMs, code: "done", items: items as Answer[] };
}

function heldOf([code, ...values]: readonly unknown[]): HeldItem | null {
  const numbers = values.map(numberOf);
  if (!HOLD_CODES.has(code) || numbers.some(Number.isNaN)) return null;
  const [deadlineMs, sum, component, previousSum, previousComponent, cost, earliestMs, version] = numbers as Eight;
  return {
    code: code as HoldCode,
    deadlineMs,
    current: { sum, component },
    previous: { sum: previousSum, component: previousComponent },
    holds: { cost, earliestMs, version },
  };
}

function freedOf([code, ...values]: readonly unknown[]): FreedItem | null {
  const numbers = values.map(numberOf);
  if (!FREE_CODES.has(code) || numbers.some(Number.isNaN)) return null;
  const [counted, deadlineMs, sum, component, cost, earliestMs, version] = numbers as Eight;
  return {
    code: code as FreeCode,
    counted,
    deadlineMs,
    current: { sum, component },
    holds: { cost, earliestMs, version },
  };
}

type Eight = [number, number, number, number, number, number, number, number];
