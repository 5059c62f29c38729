import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import { StepwiseTurns } from "../../../../test/support/stepwise-turns.ts";
import { TroubledCounters } from "../../../../test/support/troubled-stores.ts";
import type { DurationMs } from "../core/brands.ts";
import type { Trace, TraceEvent } from "../core/trace.ts";
import { encodeKey } from "../engine/key.ts";
import type { DenialRow } from "./counters.ts";
import { DenialChannel } from "./denial-channel.ts";
import { RowBudget } from "./row-budget.ts";

const MINUTE_MS = 60_000 as DurationMs;

const CAPS = { namespaceRowsMax: 100_000, workspaceRowsMax: 100_000 };

function setUp(cellsMax = 300, trace: Trace | null = null, budget = new RowBudget(CAPS)) {
  const world = new LayeredEngine(cellsMax);
  const { time, ledger, engine } = world;
  const counters = new TroubledCounters(time);
  const { clock, timers } = time;
  const options = { region: "eu", clock, timers, trace, budget };
  const channel = new DenialChannel(engine, ledger, counters, options);
  /** The key has used all of its limit of 10, and is denied. */
  const deny = (identifier: string, limit = 10) => {
    if (world.find(identifier) < 0) world.accept(identifier, limit, limit);
    channel.noteDenial(world.slot(identifier), world.sequence, MINUTE_MS, limit);
  };
  const written = () => counters.denialWrites.map(({ rows }) => rows.length);
  const row = (identifier: string, limit: number, sequence: number = world.sequence): DenialRow => ({
    key: world.key(identifier),
    sequence,
    limit,
    expiresAtMs: (sequence + 2) * MINUTE_MS,
  });
  return { world, time, counters, channel, deny, written, row };
}

describe("the denial channel and the row budget", () => {
  const budgetOf = (namespaceRowsMax: number) => new RowBudget({ namespaceRowsMax, workspaceRowsMax: 1_000 });

  test("new rows stop at the maximum, and a higher limit does not get around it", async () => {
    const budget = budgetOf(2);
    const { channel, deny, counters } = setUp(300, null, budget);
    for (const name of ["a", "b", "c", "d"]) deny(name, 10);
    for (const name of ["a", "b", "c", "d"]) deny(name, 12);
    await channel.writeOnce();
    expect(counters.denialRowsOf("eu").map(({ key, limit }) => `${key.identifier}${limit}`)).toEqual(["a12", "b12"]);
    expect([budget.rows, budget.refused, channel.dropped]).toEqual([2, 2, 0]);
  });

  /** A store whose rows of this region have expired, as the next full pass finds it. */
  const expire = (budget: RowBudget) => {
    budget.passBegins();
    budget.passed(null, { cells: [] });
  };

  // Two keys were denied while the store held as many rows as it may. Rows expired, room was there again, and the denials stayed in their
  // region for the rest of the window: the keys were marked as reported.
  test("a row that had no room is written when room was freed, under the highest limit that was denied since", async () => {
    const budget = budgetOf(2);
    const { channel, deny, counters, written } = setUp(300, null, budget);
    for (const name of ["a", "b", "c", "d"]) deny(name, 10);
    deny("d", 12);
    await channel.writeOnce();
    await channel.writeOnce();
    expect([written(), budget.refused], "nothing is tried before").toEqual([[2], 2]);
    expire(budget);
    await channel.writeOnce();
    expect(counters.denialRowsOf("eu").map(({ key, limit }) => `${key.identifier}${limit}`)).toEqual([
      "a10",
      "b10",
      "c10",
      "d12",
    ]);
    deny("c", 10);
    await channel.writeOnce();
    expect(written(), "once").toEqual([2, 2]);
  });

  test("rows that find no room again go on waiting, in their order", async () => {
    const budget = budgetOf(2);
    const { channel, deny, counters } = setUp(300, null, budget);
    for (const name of ["a", "b", "c", "d", "e"]) deny(name);
    await channel.writeOnce();
    expire(budget);
    await channel.writeOnce();
    const names = () => counters.denialRowsOf("eu").map(({ key }) => key.identifier);
    expect([names(), budget.refused]).toEqual([["a", "b", "c", "d"], 4]);
    expire(budget);
    await channel.writeOnce();
    expect(names()).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("a row that had no room is not written after its window, and the key's denial in the next one is", async () => {
    const budget = budgetOf(1);
    const { world, channel, deny, counters } = setUp(300, null, budget);
    for (const name of ["a", "b", "c"]) deny(name);
    await channel.writeOnce();
    await world.time.advance(2 * MINUTE_MS);
    world.accept("b", 10, 10);
    deny("b");
    expire(budget);
    await channel.writeOnce();
    const rows = counters.denialRowsOf("eu").map(({ key, sequence }) => [key.identifier, sequence - world.sequence]);
    expect(rows).toEqual([
      ["a", -2],
      ["b", 0],
    ]);
  });

  test("a thousand rows wait for room; a key beyond them tries again a sixteenth of the window later", async () => {
    const budget = budgetOf(1);
    const { world, channel, deny, counters } = setUp(1_100, null, budget);
    for (let i = 0; i < 1_050; i++) deny(`u${i}`);
    for (let i = 0; i < 1_050; i++) deny(`u${i}`);
    expect(budget.refused, "each key is examined once").toBe(1_049);
    await channel.writeOnce();
    await world.time.advance(MINUTE_MS / 16);
    for (let i = 0; i < 1_050; i++) deny(`u${i}`);
    expect(budget.refused, "those that wait are not examined, the others are").toBe(1_049 + 49);
    await world.time.advance(MINUTE_MS / 16);
    expire(budget);
    await channel.writeOnce();
    expect(counters.denialRowsOf("eu").map(({ key }) => key.identifier)).toEqual(["u0", "u1"]);
  });

  test("rows of the region that a full pass reads count, of another region they do not", async () => {
    const budget = budgetOf(3);
    const { channel, deny, counters, row } = setUp(300, null, budget);
    await counters.store.denials.write("eu", [row("x", 10), row("y", 10)]);
    await counters.store.denials.write("us", [row("z", 10)]);
    await channel.importOnce();
    expect(budget.rows).toBe(2);
    for (const name of ["a", "b"]) deny(name);
    await channel.writeOnce();
    expect([channel.emitted, budget.refused]).toEqual([1, 1]);
  });

  test("a write that fails takes no room", async () => {
    const budget = budgetOf(2);
    const { channel, deny, counters } = setUp(300, null, budget);
    counters.trouble("failing");
    for (const name of ["a", "b"]) deny(name);
    await channel.writeOnce();
    expect([channel.dropped, budget.rows]).toEqual([2, 0]);
  });
});

describe("denial channel", () => {
  test("tells when a batch is full, once, and writes in batches of a hundred", async () => {
    const { channel, deny, written } = setUp();
    let full = 0;
    channel.onFull = () => {
      full++;
    };
    for (let i = 0; i < 250; i++) deny(`k${i}`);
    await channel.writeOnce();
    expect([full, written(), channel.emitted]).toEqual([1, [100, 100, 50], 250]);
  });

  test("nothing pending, nothing written", async () => {
    const { channel, written } = setUp();
    await channel.writeOnce();
    expect(written()).toEqual([]);
  });

  test("a batch that the store does not take is dropped and counted, and never written again", async () => {
    const { channel, counters, deny, written } = setUp();
    counters.trouble("failing");
    deny("a");
    await channel.writeOnce();
    counters.heal();
    await channel.writeOnce();
    deny("a");
    await channel.writeOnce();
    expect([channel.dropped, channel.emitted, written()]).toEqual([1, 0, [1]]);
  });

  test("its breaker opens on twenty failed writes, and rows are dropped unasked for a second", async () => {
    const { channel, counters, time, deny, written } = setUp();
    counters.trouble("failing");
    for (let i = 0; i < 20; i++) {
      deny(`k${i}`);
      await channel.writeOnce();
    }
    expect(channel.breaker.state).toBe("open");
    deny("x");
    await channel.writeOnce();
    expect([written().length, channel.dropped]).toEqual([20, 21]);
    counters.heal();
    time.pass(1_000);
    deny("y");
    await channel.writeOnce();
    expect([written().length, channel.emitted, channel.breaker.state]).toEqual([21, 1, "closed"]);
  });

  test("a store that stalls fails after five seconds", async () => {
    const { channel, counters, time, deny } = setUp();
    counters.trouble("stalled");
    deny("a");
    let isDone = false;
    void channel.writeOnce().then(() => {
      isDone = true;
    });
    await time.advance(4_999);
    expect(isDone).toBe(false);
    await time.advance(1);
    expect([isDone, channel.dropped]).toEqual([true, 1]);
  });

  test("a row raises the view to its limit, and never above what is known", async () => {
    const { world, counters, channel, row } = setUp();
    world.accept("a", 4);
    world.accept("b", 12);
    await counters.store.denials.write("us", [row("a", 10), row("b", 10), row("c", 10)]);
    await channel.importOnce();
    await channel.importOnce();
    const { table } = world.engine;
    const views = ["a", "b", "c"].map((identifier) => table.view(world.slot(identifier), world.sequence));
    expect(views).toEqual([10, 12, 10]);
    // The second time there is nothing new.
    expect([channel.inflated, channel.junk]).toEqual([3, 0]);
  });

  test.each([-1, 1.5, Number.NaN])("a row whose limit is %d raises nothing", async (limit) => {
    const { world, counters, channel, row } = setUp();
    await counters.store.denials.write("us", [row("a", limit)]);
    await channel.importOnce();
    expect(world.find()).toBeLessThan(0);
    expect([channel.junk, channel.inflated]).toEqual([1, 0]);
  });

  test("a row of a limit of 0 is one", async () => {
    const { counters, channel, row } = setUp();
    await counters.store.denials.write("us", [row("a", 0)]);
    await channel.importOnce();
    expect([channel.junk, channel.inflated]).toEqual([0, 1]);
  });

  test("a row with a key that is none is counted and left out, and those behind it are merged", async () => {
    const { world, counters, channel, row } = setUp();
    const illegal = { ...row("a", 10), key: { ...world.key(), identifier: "" } };
    await counters.store.denials.write("us", [illegal, row("b", 10)]);
    await channel.importOnce();
    expect([channel.junk, channel.inflated, world.find("b") >= 0]).toEqual([1, 1, true]);
  });

  test("a defect is no junk: what a history's listener throws is told to whoever imports", async () => {
    const { counters, channel, row } = setUp(8, () => {
      throw new Error("disk full");
    });
    await counters.store.denials.write("us", [row("a", 10)]);
    await expect(channel.importOnce()).rejects.toThrow("disk full");
    expect(channel.junk).toBe(0);
  });

  test("a row that finds no room raises nothing", async () => {
    const { world, counters, channel, row } = setUp(1);
    world.accept("a", 4);
    await counters.store.denials.write("us", [row("b", 10)]);
    await channel.importOnce();
    expect([channel.inflated, world.find("b") >= 0]).toEqual([0, false]);
  });

  test("a row of the window before does not make a key tell its denial again", async () => {
    const { world, counters, channel, deny, written, row } = setUp();
    deny("a");
    await counters.store.denials.write("us", [row("a", 10, world.previous)]);
    await channel.importOnce();
    deny("a");
    await channel.writeOnce();
    expect([channel.inflated, written()]).toEqual([1, [1]]);
  });

  test("rows with long names wait up to 8 MiB, and are written and given back", async () => {
    const { world, channel, deny } = setUp(130_000);
    const longest = (i: number) => "\u{1F600}".repeat(506) + String(i).padStart(6, "0");
    for (let i = 0; i < 5_000; i++) deny(longest(i));
    const { bytes } = world.ledger.name(world.slot(longest(0)))!;
    const room = Math.ceil((8 * 2 ** 20) / bytes);
    expect([channel.waiting, channel.dropped]).toEqual([room, 5_000 - room]);
    await channel.writeOnce();
    deny("a");
    expect([channel.waiting, channel.emitted]).toEqual([1, room]);
  });

  test("ten thousand rows wait for a slow store, and those beyond are dropped and counted", async () => {
    const { world, channel, deny } = setUp(10_002);
    for (let i = 0; i < 10_002; i++) deny(`k${i}`);
    expect(channel.dropped).toBe(2);
    // Dropped is dropped: the key does not try again in this window.
    deny("k10001");
    expect([channel.dropped, world.find("k10001") >= 0]).toEqual([2, true]);
    await channel.writeOnce();
    expect(channel.emitted).toBe(10_000);
  });

  test("a history hears of every row that was written, and of every cell that one raised", async () => {
    const events: TraceEvent[] = [];
    const { world, time, counters, channel, deny, row } = setUp(8, (event) => events.push(event));
    deny("a");
    await channel.writeOnce();
    await counters.store.denials.write("us", [row("b", 7)]);
    await channel.importOnce();
    const { sequence } = world;
    const clocks = { wallMs: time.wallMs, monoMs: time.monoMs };
    const [a, b] = ["a", "b"].map((id) => encodeKey(world.key(id)));
    expect(events).toEqual([
      { kind: "denial", key: a, sequence, count: 10, ...clocks },
      { kind: "inflate", key: b, sequence, count: 7, ...clocks },
    ]);
  });

  test("a higher limit replaces that of a row which still waits: one row", async () => {
    const { world, channel, counters, deny } = setUp();
    world.accept("a", 100);
    for (const limit of [5, 100, 50]) deny("a", limit);
    await channel.writeOnce();
    expect(counters.denialWrites.flatMap(({ rows }) => rows.map(({ limit }) => limit))).toEqual([100]);
  });

  test("a client who names a thousand limits gets at most twenty rows per window, and the highest limit among them", async () => {
    const { world, time, channel, counters, deny } = setUp();
    world.accept("a", 10_000, 10_000);
    for (let i = 0; i < 1_000; i++) {
      deny("a", 1 + i);
      await channel.writeOnce();
      time.pass(MINUTE_MS / 1_000);
    }
    const limits = counters.denialWrites.flatMap(({ rows }) => rows.map(({ limit }) => limit));
    // Four at once, then one in each sixteenth of the window: 3.75 s after the fourth, and so on.
    expect(limits.slice(0, 4)).toEqual([1, 2, 3, 4]);
    expect(limits.length).toBeLessThanOrEqual(20);
    expect(limits.at(-1)).toBeGreaterThan(1_000 - 1_000 / 16 - 1);
  });

  test("with four rows written, a denial under the real limit is written when it comes again after a sixteenth of the window", async () => {
    const { world, time, channel, deny, written } = setUp();
    world.accept("a", 100);
    for (const limit of [1, 2, 3, 4]) {
      deny("a", limit);
      await channel.writeOnce();
    }
    deny("a", 100);
    await channel.writeOnce();
    expect(written()).toHaveLength(4);
    time.pass(MINUTE_MS / 16);
    deny("a", 100);
    deny("a", 99);
    await channel.writeOnce();
    expect(written()).toHaveLength(5);
  });

  test("a row of another process of the same region raises nothing, takes no slot, and prevents a second such row", async () => {
    const { world, counters, channel, deny, row, written } = setUp();
    world.accept("a", 10);
    await counters.store.denials.write("eu", [row("a", 10), row("b", 10)]);
    await channel.importOnce();
    deny("a");
    await channel.writeOnce();
    expect([written(), channel.inflated, world.find("b") >= 0]).toEqual([[], 0, false]);
    deny("a", 11);
    await channel.writeOnce();
    expect(written()).toEqual([1]);
  });

  test("only what changed is read, and after a failure everything", async () => {
    const { counters, channel, row } = setUp();
    const cursors: (string | null)[] = [];
    const { read } = counters.denials;
    Object.assign(counters.denials, {
      read: (region: string, cursor: string | null) => {
        cursors.push(cursor);
        return read!(region, cursor);
      },
    });
    await counters.store.denials.write("us", [row("a", 10)]);
    await channel.importOnce();
    await channel.importOnce();
    counters.trouble("failing");
    await expect(channel.importOnce()).rejects.toThrow("refused");
    counters.heal();
    await channel.importOnce();
    expect(cursors).toEqual([null, "1", "1", null]);
    expect([channel.inflated, channel.readsFailed, channel.isRead]).toEqual([2, 1, true]);
  });

  test("a row of the next window, from a clock that is ahead, raises it once it has begun", async () => {
    const { world, time, counters, channel, row } = setUp();
    const next = (world.sequence + 1) as typeof world.sequence;
    await counters.store.denials.write("us", [row("a", 10, next), row("b", 10, next + 1)]);
    await channel.importOnce();
    expect([channel.inflated, world.find("a") >= 0]).toEqual([0, false]);
    await time.advanceToWindow(MINUTE_MS);
    await channel.importOnce();
    expect(world.engine.table.view(world.slot("a"), next)).toBe(10);
    expect([channel.inflated, world.find("b") >= 0]).toEqual([1, false]);
  });

  test("many rows raise their cells in turns of the event loop", async () => {
    const world = new LayeredEngine(2_000);
    const turns = new StepwiseTurns(world.time);
    const counters = new TroubledCounters(world.time);
    const budget = new RowBudget(CAPS);
    const options = { region: "eu", clock: world.time.clock, timers: turns.timers, trace: null, budget };
    const channel = new DenialChannel(world.engine, world.ledger, counters, options);
    const { sequence } = world;
    const rows = Array.from({ length: 1_200 }, (_, i) => {
      return { key: world.key(`k${i}`), sequence, limit: 10, expiresAtMs: (sequence + 2) * MINUTE_MS };
    });
    await counters.store.denials.write("us", rows);
    const reading = channel.importOnce();
    const byTurn: number[] = [];
    await turns.each(() => byTurn.push(channel.inflated));
    await reading;
    expect([byTurn, channel.inflated]).toEqual([[500, 1_000, 1_200], 1_200]);
  });

  test("a store without pages is read whole, and its own rows raise nothing", async () => {
    const { world, counters, channel, row } = setUp();
    Object.assign(counters.denials, { read: undefined });
    await counters.store.denials.write("eu", [row("a", 10)]);
    await counters.store.denials.write("us", [row("b", 10)]);
    for (let i = 0; i < 2; i++) await channel.importOnce();
    expect([channel.inflated, world.find("a") >= 0, world.find("b") >= 0]).toEqual([2, false, true]);
  });

  test("reports how long ago it read and wrote, what failed and what waits", async () => {
    const { time, counters, channel, deny } = setUp();
    time.pass(500);
    expect([channel.readAgeMs, channel.writeAgeMs, channel.upToDateAgeMs, channel.isRead]).toEqual([
      500,
      null,
      500,
      false,
    ]);
    deny("a");
    expect(channel.waiting).toBe(1);
    await channel.writeOnce();
    await channel.importOnce();
    time.pass(300);
    expect([channel.readAgeMs, channel.writeAgeMs, channel.upToDateAgeMs, channel.isRead]).toEqual([
      300,
      300,
      300,
      true,
    ]);
    counters.trouble("failing");
    deny("b");
    await channel.writeOnce();
    await channel.importOnce().catch(() => {});
    expect([channel.readAgeMs, channel.writeAgeMs, channel.upToDateAgeMs]).toEqual([300, 300, 300]);
    expect([channel.writesFailed, channel.readsFailed, channel.waiting]).toEqual([1, 1, 0]);
    // Nothing left to write: what was dropped is counted, and not waited for.
    await channel.writeOnce();
    expect([channel.upToDateAgeMs, channel.dropped]).toEqual([0, 1]);
  });

  test("a failed read of the active rows is the caller's to count", async () => {
    const { counters, channel } = setUp();
    counters.trouble("failing");
    await expect(channel.importOnce()).rejects.toThrow("refused");
  });
});
