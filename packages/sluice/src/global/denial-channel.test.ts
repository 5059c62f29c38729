import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/layered-engine.ts";
import { TroubledCounters } from "../../../../test/troubled-stores.ts";
import type { DurationMs } from "../core/brands.ts";
import { DenialChannel } from "./denial-channel.ts";

const MINUTE_MS = 60_000 as DurationMs;

function setUp(cellsMax = 300) {
  const world = new LayeredEngine(cellsMax);
  const { time, ledger, engine } = world;
  const counters = new TroubledCounters(time);
  const { clock, timers } = time;
  const options = { region: "eu", durationMinMs: MINUTE_MS, clock, timers, trace: null };
  const channel = new DenialChannel(engine, ledger, counters, options);
  /** The key has used all of its limit of 10, and is denied. */
  const deny = (identifier: string) => {
    if (world.find(identifier) < 0) world.accept(identifier, 10, 10);
    channel.hear(world.slot(identifier), world.sequence, MINUTE_MS, 10);
  };
  const written = () => counters.denialWrites.map(({ rows }) => rows.length);
  return { world, time, counters, channel, deny, written };
}

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
    const { world, counters, channel } = setUp();
    const row = (identifier: string, limit: number) => ({
      key: world.key(identifier),
      sequence: world.sequence,
      limit,
      expiresAtMs: (world.sequence + 2) * MINUTE_MS,
    });
    world.accept("a", 4);
    world.accept("b", 12);
    await counters.store.denials.write("us", [row("a", 10), row("b", 10), row("c", 10)]);
    await channel.importOnce();
    await channel.importOnce();
    const { table } = world.engine;
    const views = ["a", "b", "c"].map((identifier) => table.view(world.slot(identifier), world.sequence));
    expect(views).toEqual([10, 12, 10]);
  });

  test.each([-1, 1.5, Number.NaN])("a row whose limit is %d raises nothing", async (limit) => {
    const { world, counters, channel } = setUp();
    const expiresAtMs = (world.sequence + 2) * MINUTE_MS;
    await counters.store.denials.write("us", [{ key: world.key(), sequence: world.sequence, limit, expiresAtMs }]);
    await channel.importOnce();
    expect(world.find()).toBeLessThan(0);
  });

  test("a failed read of the active rows is the caller's to count", async () => {
    const { counters, channel } = setUp();
    counters.trouble("failing");
    await expect(channel.importOnce()).rejects.toThrow("refused");
  });
});
