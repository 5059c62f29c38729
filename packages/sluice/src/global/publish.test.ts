import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import { StepwiseTurns } from "../../../../test/support/stepwise-turns.ts";
import { TroubledCounters } from "../../../../test/support/troubled-stores.ts";
import type { TraceEvent } from "../core/trace.ts";
import { encodeKey } from "../engine/key.ts";
import { publishFloor } from "./floor.ts";
import { Publish } from "./publish.ts";
import { RowBudget } from "./row-budget.ts";

const MINUTE_MS = 60_000;

/** A floor for two regions, unless there are others. */
const floor = (part: number, regionsLive = 2) => ({ part, regionsLive });

const CAPS = { namespaceRowsMax: 100_000, workspaceRowsMax: 100_000 };

function setUp(cellsMax = 16, caps = CAPS) {
  const world = new LayeredEngine(cellsMax);
  const { time, ledger, engine } = world;
  const counters = new TroubledCounters(time);
  const budget = new RowBudget(caps);
  const { clock, timers } = time;
  const options = { region: "eu", durationMinMs: MINUTE_MS, clock, timers, trace: null, budget };
  const publish = new Publish(engine.table, ledger, counters, options);
  const sent = () => counters.rowsOf("eu").map(({ key, count }) => `${key.identifier}${count}`);
  return { world, time, table: engine.table, ledger, counters, options, publish, sent, budget };
}

describe("publish", () => {
  test("a call without rows is made all the same: it says that the region is alive", async () => {
    const { counters, publish } = setUp();
    await publish.publishOnce(floor(0));
    expect(counters.published).toEqual([{ region: "eu", rows: [] }]);
  });

  test("sends the regional count, never the foreign one", async () => {
    const { world, table, publish, sent } = setUp();
    world.accept("a", 3);
    table.raiseOthers(world.slot(), world.sequence, 4);
    table.raiseForeign(world.slot(), world.sequence, 50);
    await publish.publishOnce(floor(0));
    expect(sent()).toEqual(["a7"]);
  });

  test("a foreign count alone is nothing to publish", async () => {
    const { world, table, ledger, publish, sent } = setUp();
    world.accept("a", 1);
    await publish.publishOnce(floor(0));
    table.raiseForeign(world.slot(), world.sequence, 50);
    ledger.regionalRose(world.slot());
    await publish.publishOnce(floor(0));
    expect(sent()).toEqual(["a1"]);
  });

  test("`published` moves after success only, and then the same count is not sent again", async () => {
    const { world, table, counters, publish, sent } = setUp();
    world.accept("a", 3);
    counters.trouble("failing");
    await expect(publish.publishOnce(floor(0))).rejects.toThrow("refused");
    expect([table.published(world.slot(), world.sequence), publish.failed, publish.rows]).toEqual([0, 1, 0]);
    counters.heal();
    await publish.publishOnce(floor(0));
    await publish.publishOnce(floor(0));
    expect([table.published(world.slot(), world.sequence), sent(), publish.rows]).toEqual([3, ["a3", "a3"], 1]);
  });

  test("a row says that some of its count was charged, even if somebody else published the count before", async () => {
    const { world, table, counters, publish } = setUp();
    const notes = () => counters.rowsOf("eu").map(({ key, isCharged }) => [key.identifier, isCharged === true]);
    world.accept("a", 3);
    world.charge("b", 300);
    await publish.publishOnce(floor(0));
    expect(notes()).toEqual([
      ["a", false],
      ["b", true],
    ]);
    // Another process of the region has published all of it: nothing rises by this one's row but the note.
    world.charge("a", 4);
    table.raisePublished(world.slot(), world.sequence, 7);
    counters.published.length = 0;
    await publish.publishOnce(floor(0));
    expect(notes()).toEqual([["a", true]]);
    counters.published.length = 0;
    world.charge("b", 1);
    world.accept("a", 1);
    await publish.publishOnce(floor(0));
    expect(notes().sort()).toEqual([
      ["a", true],
      ["b", true],
    ]);
    await publish.publishOnce(floor(0));
    expect(notes()).toHaveLength(2);
  });

  test("the note of a charge follows the floor: below it there is no row, and nothing to say", async () => {
    const { world, table, counters, publish } = setUp();
    world.charge("a", 1);
    await publish.publishOnce(floor(0.5));
    expect(counters.rowsOf("eu")).toEqual([]);
    // The region's row is there by now: published by another process, and imported.
    table.raisePublished(world.slot(), world.sequence, 1);
    world.ledger.regionalRose(world.slot());
    await publish.publishOnce(floor(0.5));
    expect(counters.rowsOf("eu")).toMatchObject([{ count: 1, isCharged: true }]);
  });

  test("is as old as its last success", async () => {
    const { time, counters, publish } = setUp();
    await time.advance(3_000);
    expect(publish.ageMs).toBe(3_000);
    counters.trouble("failing");
    await expect(publish.publishOnce(floor(0))).rejects.toThrow("refused");
    expect(publish.ageMs).toBe(3_000);
    counters.heal();
    await publish.publishOnce(floor(0));
    expect(publish.ageMs).toBe(0);
  });

  test("cost that came while a publish was under way is due again", async () => {
    const { world, counters, publish, sent } = setUp();
    world.accept("a", 3);
    counters.trouble("stalled");
    const first = publish.publishOnce(floor(0));
    world.accept("a", 2);
    counters.heal();
    await first;
    await publish.publishOnce(floor(0));
    expect(sent()).toEqual(["a3", "a5"]);
  });

  test("both windows of a key are sent, each with its own expiry", async () => {
    const { world, time, counters, publish } = setUp();
    world.accept("a", 3);
    time.pass(MINUTE_MS);
    world.accept("a", 2);
    await publish.publishOnce(floor(0));
    expect(counters.rowsOf("eu")).toMatchObject([
      { sequence: world.previous, count: 3, expiresAtMs: (world.previous + 2) * MINUTE_MS },
      { sequence: world.sequence, count: 2, expiresAtMs: (world.sequence + 2) * MINUTE_MS },
    ]);
  });

  test("a key below the floor is not due until it rises, and is sent when it is above it", async () => {
    const { world, ledger, publish, sent } = setUp();
    world.accept("a", 9);
    await publish.publishOnce(floor(0.1));
    expect([sent(), ledger.unpublished.size]).toEqual([[], 0]);
    world.accept("a", 1);
    expect(ledger.unpublished.size).toBe(1);
    await publish.publishOnce(floor(0.1));
    expect([sent(), ledger.unpublished.size]).toEqual([[], 0]);
    world.accept("a", 1);
    await publish.publishOnce(floor(0.1));
    expect([sent(), ledger.unpublished.size]).toEqual([["a11"], 0]);
  });

  test("keys below the floor that do not change are not examined again", async () => {
    // Seen: 300,000 idle keys below the floor cost 6.7 % of a core, because every round examined every one of them.
    const { world, ledger, publish } = setUp(1_000);
    for (let i = 0; i < 1_000; i++) world.accept(`k${i}`);
    await publish.publishOnce(floor(0.01));
    let examined = 0;
    const name = ledger.name.bind(ledger);
    ledger.name = (slot) => {
      examined++;
      return name(slot);
    };
    for (let i = 0; i < 10; i++) await publish.publishOnce(floor(0.01));
    expect(examined).toBe(0);
  });

  test.each([
    ["the floor falls", floor(0.02), 2],
    ["two other regions join", floor(0.05, 4), 2],
    ["the other region leaves", floor(0.05, 1), 2],
    ["the floor rises", floor(0.06), 0],
  ])("%s: every key with an unpublished count is examined once", async (_, changed, rows) => {
    const { world, time, ledger, publish, sent } = setUp();
    world.accept("a", 5);
    time.pass(MINUTE_MS);
    world.accept("a", 5);
    await publish.publishOnce(floor(0.05));
    expect([sent(), ledger.unpublished.size]).toEqual([[], 0]);
    await publish.publishOnce(changed);
    await publish.publishOnce(changed);
    expect([sent().length, ledger.unpublished.size]).toEqual([rows, 0]);
  });

  test("a change of the floor goes through 25,000 keys in turns", async () => {
    const { world, time, table, ledger, counters, options } = setUp(25_000);
    for (let i = 0; i < 25_000; i++) world.accept(`k${i}`);
    const turns = new StepwiseTurns(time);
    const publish = new Publish(table, ledger, counters, { ...options, timers: turns.timers });
    const turnsOf = async (part: number) => {
      let count = 0;
      const publishing = publish.publishOnce(floor(part));
      await turns.each(() => count++);
      await publishing;
      return count;
    };
    // 25,000 keys are due: 13 turns of up to 2,000. Then nothing is: 1 turn. Then 2 more to find them, and 13 again.
    expect([await turnsOf(0.5), await turnsOf(0.5), await turnsOf(0.4)]).toEqual([13, 1, 15]);
  });

  test("a key with a small limit that is requested once stays regional, unless the regions together would hide too much", async () => {
    for (const [regions, limit, rows] of [
      [2, 10, 0],
      [2, 100, 0],
      [10, 100, 0],
      [3, 10, 1],
      [10, 10, 1],
    ] as const) {
      const { world, publish, sent } = setUp();
      world.accept("a", 1, limit);
      await publish.publishOnce(floor(publishFloor(regions, 0.02), regions));
      expect([regions, limit, sent().length]).toEqual([regions, limit, rows]);
    }
  });

  test("short windows are not kept in mind", async () => {
    const { world, ledger, publish, sent } = setUp();
    world.accept("a", 50, 100, 59_000);
    await publish.publishOnce(floor(0));
    expect([sent(), ledger.unpublished.size]).toEqual([[], 0]);
  });

  test("an answer for a slot that has become another key's moves nothing", async () => {
    const { world, table, counters, publish } = setUp();
    world.accept("a", 3);
    counters.trouble("stalled");
    const sending = publish.publishOnce(floor(0));
    const slot = world.slot();
    world.engine.release(slot, true);
    world.accept("b", 1);
    expect(world.slot("b")).toBe(slot);
    counters.heal();
    await sending;
    expect(table.published(slot, world.sequence)).toBe(0);
  });

  test("ten thousand keys go out in bounded calls, one in a turn of the event loop", async () => {
    const { world, time, table, ledger, counters, options } = setUp(10_000);
    for (let i = 0; i < 10_000; i++) world.accept(`k${i}`);
    const turns = new StepwiseTurns(time);
    const publishing = new Publish(table, ledger, counters, { ...options, timers: turns.timers }).publishOnce(floor(0));
    let calls = 0;
    await turns.each(() => expect(counters.published).toHaveLength(++calls));
    await publishing;
    expect(Math.max(...counters.published.map(({ rows }) => rows.length))).toBeLessThanOrEqual(512);
    expect(new Set(counters.rowsOf("eu").map(({ key }) => key.identifier)).size).toBe(10_000);
  });

  test("ten thousand keys below the floor are looked through in turns", async () => {
    const { world, time, table, ledger, counters, options } = setUp(10_000);
    for (let i = 0; i < 10_000; i++) world.accept(`k${i}`);
    const turns = new StepwiseTurns(time);
    const publishing = new Publish(table, ledger, counters, { ...options, timers: turns.timers }).publishOnce(
      floor(0.5),
    );
    let count = 0;
    await turns.each(() => count++);
    await publishing;
    expect(count).toBe(6);
    expect(counters.published).toEqual([{ region: "eu", rows: [] }]);
  });

  test("keys that come while a round is under way are the next round's", async () => {
    const { world, time, counters, publish } = setUp(2_000);
    for (let i = 0; i < 600; i++) world.accept(`k${i}`);
    const publishing = publish.publishOnce(floor(0));
    await time.settle();
    for (let i = 600; i < 1_200; i++) world.accept(`k${i}`);
    await time.advance(10);
    await publishing;
    expect(counters.rowsOf("eu")).toHaveLength(600);
  });

  test("a cell that has expired is not sent, and its key leaves the backlog once nothing is left of it", async () => {
    const { world, time, ledger, publish, sent } = setUp();
    world.accept("a", 3);
    time.pass(2 * MINUTE_MS - 1);
    await publish.publishOnce(floor(0.5));
    expect([sent(), ledger.unpublished.size]).toEqual([[], 0]);
    time.pass(1);
    await publish.publishOnce(floor(0));
    expect([sent(), ledger.unpublished.size]).toEqual([[], 0]);
  });

  test("at the floor it is sent, and below it where another region has a count; each window for itself", async () => {
    const { world, time, table, publish, sent } = setUp();
    world.accept("at", 50);
    world.accept("below", 49);
    world.accept("used", 1);
    table.raiseForeign(world.slot("used"), world.sequence, 9);
    await publish.publishOnce(floor(0.5));
    expect(sent().sort()).toEqual(["at50", "used1"]);
    time.pass(MINUTE_MS);
    world.accept("used", 2);
    await publish.publishOnce(floor(0.5));
    expect(sent()).toHaveLength(2);
  });

  test("a row that has gone missing is sent again though it is below the floor, and no other of its key", async () => {
    const { world, time, table, ledger, publish, sent } = setUp();
    world.accept("a", 3);
    await publish.publishOnce(floor(0));
    time.pass(MINUTE_MS);
    world.accept("a", 5);
    await publish.publishOnce(floor(0));
    const slot = world.slot();
    ledger.forgetConfirmed();
    ledger.confirm(slot, world.sequence);
    ledger.markUnseen(slot);
    await publish.publishOnce(floor(1));
    expect(sent()).toEqual(["a3", "a5", "a3"]);
    await publish.publishOnce(floor(1));
    expect([sent().length, ledger.isUnseen(slot), ledger.unpublished.size]).toEqual([3, false, 0]);
    // A cell that was never published cannot be missing.
    time.pass(MINUTE_MS);
    world.accept("a", 1);
    ledger.forgetConfirmed();
    ledger.confirm(slot, world.previous);
    ledger.markUnseen(slot);
    await publish.publishOnce(floor(1));
    expect([sent().length, table.published(slot, world.sequence)]).toEqual([3, 0]);
  });

  test("a window below the floor is sent once another region has a count, even after the next window has begun", async () => {
    const { world, time, table, ledger, publish, sent } = setUp();
    world.accept("a", 3);
    time.pass(MINUTE_MS);
    const slot = world.slot();
    table.rotate(slot, world.sequence);
    await publish.publishOnce(floor(0.5));
    expect(sent()).toEqual([]);
    table.raiseForeign(slot, world.previous, 1);
    ledger.regionalRose(slot);
    await publish.publishOnce(floor(0.5));
    expect(sent()).toEqual(["a3"]);
  });

  test("a history hears of every row that the store took", async () => {
    const { world, time, table, ledger, counters, options } = setUp();
    const events: TraceEvent[] = [];
    const publish = new Publish(table, ledger, counters, { ...options, trace: (event) => events.push(event) });
    world.accept("a", 3);
    counters.trouble("failing");
    await publish.publishOnce(floor(0)).catch(() => undefined);
    counters.heal();
    await publish.publishOnce(floor(0));
    const { wallMs, monoMs } = time;
    const key = encodeKey(world.key());
    expect(events).toEqual([{ kind: "publish", key, sequence: world.sequence, count: 3, wallMs, monoMs }]);
  });
});

describe("publish and the row budget", () => {
  const caps = { namespaceRowsMax: 2, workspaceRowsMax: 1_000 };

  test("new rows stop at the maximum, rows that the store has go on rising", async () => {
    const { world, ledger, publish, sent, budget } = setUp(16, caps);
    for (const name of ["a", "b", "c"]) world.accept(name, 10);
    await publish.publishOnce(floor(0));
    expect([sent(), ledger.unpublished.size, budget.refused]).toEqual([["a10", "b10"], 0, 1]);
    for (const name of ["a", "b", "c"]) world.accept(name, 1);
    await publish.publishOnce(floor(0));
    expect([sent(), ledger.unpublished.size, budget.refused]).toEqual([["a10", "b10", "a11", "b11"], 0, 2]);
  });

  test("where room is scarce, keys nearest to their limit go first, and keys of other regions before all", async () => {
    const { world, table, publish, sent, budget } = setUp(16, { ...caps, namespaceRowsMax: 4 });
    const { key } = { key: world.key("x") };
    for (let i = 0; i < 2; i++) budget.take(key);
    world.accept("low", 10);
    world.accept("middle", 50);
    world.accept("used", 1);
    world.accept("high", 90);
    table.raiseForeign(world.slot("used"), world.sequence, 1);
    await publish.publishOnce(floor(0));
    expect(sent()).toEqual(["used1", "high90"]);
  });

  test("a refused key is published once rows have expired, without a new request", async () => {
    const { world, publish, sent, budget } = setUp(16, caps);
    for (const name of ["a", "b", "c"]) world.accept(name, 10);
    await publish.publishOnce(floor(0));
    budget.passBegins();
    budget.passed(null, { cells: [{ key: world.key("a"), own: 10 }] });
    await publish.publishOnce(floor(0));
    expect(sent()).toEqual(["a10", "b10", "c10"]);
  });

  test("a publish that fails takes no room", async () => {
    const { world, counters, publish, sent, budget } = setUp(16, caps);
    world.accept("a", 10);
    counters.trouble("failing");
    for (let i = 0; i < 3; i++) await expect(publish.publishOnce(floor(0))).rejects.toThrow("refused");
    counters.heal();
    await publish.publishOnce(floor(0));
    expect([sent().at(-1), budget.rows]).toEqual(["a10", 1]);
  });

  test("a row that the store lost needs room again", async () => {
    const { world, ledger, table, publish, budget } = setUp(16, caps);
    world.accept("a", 10);
    await publish.publishOnce(floor(0));
    ledger.forgetConfirmed();
    ledger.markUnseen(world.slot());
    budget.passBegins();
    budget.passed(null, { cells: [] });
    expect(budget.rows).toBe(0);
    await publish.publishOnce(floor(0));
    expect([budget.rows, table.published(world.slot(), world.sequence)]).toEqual([1, 10]);
  });
});
