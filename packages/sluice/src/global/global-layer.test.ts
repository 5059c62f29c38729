import { describe, expect, test } from "vitest";
import { LayeredEngine } from "../../../../test/support/layered-engine.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { TroubledCounters } from "../../../../test/support/troubled-stores.ts";
import { GlobalLayer, type GlobalMode } from "./global-layer.ts";

function setUp(
  mode: GlobalMode = "counters",
  fields: {
    readonly floor?: number | null;
    readonly uint32?: () => number;
    /** The identities that the origin answers, one by one; then it is away. */
    readonly originIds?: (string | null)[];
  } = {},
) {
  const world = new LayeredEngine(16);
  const { time, ledger, engine } = world;
  const counters = new TroubledCounters(time);
  const seeded = new SeededRandom(3);
  const random = { uint32: fields.uint32 ?? (() => seeded.uint32()) };
  const { clock, timers } = time;
  const rhythm = {
    publishMs: 1_000,
    importMs: 2_000,
    durationMinMs: 60_000,
    floor: fields.floor ?? null,
    errorBudget: 0.02,
    namespaceRowsMax: 1_000,
    workspaceRowsMax: 1_000,
  };
  const originIds = fields.originIds ?? [];
  const originId = async () => originIds.shift() ?? null;
  const options = {
    region: "eu",
    mode,
    ...rhythm,
    originId,
    wasOriginEmpty: () => false,
    clock,
    timers,
    random,
    trace: null,
  };
  // Without identities, a store that does not register.
  if (fields.originIds === undefined) Object.assign(counters, { register: undefined });
  return { world, time, counters, layer: new GlobalLayer(engine, ledger, counters, options) };
}

describe("global layer", () => {
  test("a region registers with its origin at the start, before its first publish, and every ten seconds", async () => {
    const { time, counters, layer } = setUp("counters", { originIds: ["7"] });
    layer.start();
    await time.advance(500);
    expect(counters.registered).toEqual(["eu 7"]);
    await time.advance(1_000);
    expect([counters.registered.length, counters.published.length]).toEqual([2, 1]);
    await time.advance(33_000);
    expect(counters.registered).toEqual(Array(5).fill("eu 7"));
    layer.stop();
  });

  test("while an origin is away, the region goes on registering with the identity that it had", async () => {
    const { time, counters, layer } = setUp("counters", { originIds: ["7"] });
    layer.start();
    await time.advance(35_000);
    expect(counters.registered).toEqual(Array(5).fill("eu 7"));
    layer.stop();
  });

  test("nothing is published or imported before the origin's identity is known", async () => {
    // A region that had been renamed published under its new name, and took the rows of its old name for those of another region.
    const { world, time, counters, layer } = setUp("both", {
      floor: 0,
      originIds: [...Array(40).fill(null), "7", "7", "7"],
    });
    world.accept("a", 50);
    layer.start();
    await time.advance(5_000);
    expect([counters.registered, counters.published, counters.reads, layer.isImported]).toEqual([[], [], [], false]);
    expect(layer.failed).toBeGreaterThan(0);
    await time.advance(60_000);
    expect([layer.isImported, counters.rowsOf("eu").length]).toEqual([true, 1]);
    layer.stop();
  });

  test("a region whose registrations fail for half a minute registers again before it publishes", async () => {
    const { time, counters, layer } = setUp("counters", { originIds: ["7"] });
    layer.start();
    await time.advance(5_000);
    const register = counters.register.bind(counters);
    counters.register = () => Promise.reject(new Error("no rights"));
    await time.advance(45_000);
    const published = counters.published.length;
    await time.advance(10_000);
    expect([counters.published.length, layer.publish.failed > 5]).toEqual([published, true]);
    counters.register = register;
    await time.advance(2_500);
    expect(counters.published.length).toBeGreaterThan(published);
    layer.stop();
  });

  test("the other names of its origin, and a name in use at the same time, are reported", async () => {
    const { time, counters, layer } = setUp("counters", { originIds: ["7"] });
    await counters.store.register!("default", "7");
    layer.start();
    await time.advance(500);
    expect([layer.aliases, layer.conflict]).toEqual([["default"], expect.stringContaining('"default"')]);
    await time.advance(40_000);
    expect([layer.aliases, layer.conflict]).toEqual([["default"], null]);
    layer.stop();
  });

  test("publish, import and cleanup each have their own rhythm", async () => {
    const { time, counters, layer } = setUp();
    layer.start();
    await time.advance(120_000);
    expect(counters.published.length).toBeGreaterThan(105);
    expect(counters.published.length).toBeLessThan(135);
    expect(counters.reads.length).toBeGreaterThan(52);
    expect(counters.reads.length).toBeLessThan(68);
    expect([1, 2]).toContain(counters.cleanUps);
    expect([counters.denialReads, counters.denialWrites]).toEqual([0, []]);
  });

  test.each([
    [0, 900],
    [2 ** 32 - 1, 1_100],
  ])("a rhythm is jittered by a tenth: a draw of %i makes a second %i ms", async (drawn, ms) => {
    const { time, counters, layer } = setUp("counters", { uint32: () => drawn });
    layer.start();
    await time.advance(ms - 1);
    expect(counters.published).toEqual([]);
    await time.advance(1);
    expect(counters.published).toHaveLength(1);
  });

  test("a cleanup goes on batch after batch until nothing is left", async () => {
    // Seen: a thousand rows a minute were deleted where production makes 240,000 a minute, and the table grew for ever.
    const { world, time, counters, layer } = setUp();
    const { wallMs } = time;
    const rows = Array.from({ length: 2_500 }, (_, i) => ({
      key: world.key(`k${i}`),
      sequence: 1,
      count: 1,
      expiresAtMs: wallMs,
    }));
    await counters.store.publish("us", rows);
    layer.start();
    await time.advance(66_000);
    expect(counters.cleanUps).toBe(3);
    expect(await counters.store.cleanUp(time.wallMs, 10)).toBe(0);
  });

  test("in mode denials no counts are told, in mode counters no denials", async () => {
    for (const [mode, published, denialReads] of [
      ["counters", true, false],
      ["denials", false, true],
      ["both", true, true],
    ] as const) {
      const { time, counters, layer } = setUp(mode);
      layer.start();
      await time.advance(11_500);
      expect([counters.published.length > 0, counters.denialReads > 0]).toEqual([published, denialReads]);
    }
  });

  test("a round that is under way is not begun a second time; one that takes too long is given up", async () => {
    const { time, counters, layer } = setUp();
    layer.start();
    counters.trouble("stalled");
    await time.advance(9_000);
    expect(counters.published).toHaveLength(1);
    await time.advance(5_000);
    expect(counters.published.length).toBe(2);
    expect(layer.failed).toBeGreaterThanOrEqual(1);
  });

  test("a round that fails is counted, and the next one does its work", async () => {
    const { world, time, counters, layer } = setUp("counters", { floor: 0 });
    world.accept("a", 5);
    layer.start();
    counters.trouble("failing");
    await time.advance(5_000);
    expect(layer.failed).toBeGreaterThan(3);
    counters.heal();
    await time.advance(1_200);
    expect(counters.rowsOf("eu").at(-1)).toMatchObject({ count: 5 });
  });

  test("a fixed floor stands, otherwise it follows the live regions", async () => {
    expect(setUp("counters", { floor: 0.3 }).layer.floor).toBe(0.3);
    const { time, counters, layer } = setUp();
    expect(layer.floor).toBe(1);
    for (const region of ["us", "ap"]) await counters.store.publish(region, []);
    layer.start();
    await time.advance(2_500);
    expect(layer.floor).toBeCloseTo(0.02 / 4);
  });

  test("a cleanup begins no further batch once ten seconds have passed", async () => {
    for (const [batchMs, batches] of [
      [5_000, 2],
      [4_999, 3],
    ] as const) {
      const { time, counters, layer } = setUp("denials");
      counters.cleanUp = async (_, rowsMax) => {
        counters.cleanUps++;
        time.pass(batchMs);
        return rowsMax;
      };
      layer.start();
      await time.advance(66_000);
      expect(counters.cleanUps).toBe(batches);
      layer.stop();
    }
  });

  test("a store without register gets no registrations", async () => {
    const { time, layer } = setUp("counters");
    layer.start();
    await time.settle();
    // Publish, import and cleanup.
    expect(time.pending).toBe(3);
    layer.stop();
  });

  test("what the store says of itself is passed on, if it does", () => {
    const { layer, counters } = setUp();
    expect(layer.health).toBeNull();
    const health = { isReady: true };
    Object.assign(counters, { health: () => health });
    expect(layer.health).toBe(health);
  });

  /** A region that has something to publish, and denials to tell: a hundred are a full batch. */
  function setUpBusy(mode: GlobalMode) {
    const { world, layer, ...rest } = setUp(mode, { floor: 0 });
    world.accept("a", 5, 10);
    const deny = (sequence: number) => layer.denials.noteDenial(world.slot(), sequence as never, 60_000 as never, 0);
    return { ...rest, world, layer, denyMany: (length = 100) => Array.from({ length }, (_, i) => deny(i)) };
  }

  test("a full batch of denials is written at once, but not before the start or after the stop", async () => {
    const { time, counters, layer, denyMany } = setUpBusy("both");
    denyMany();
    await time.settle();
    expect(counters.denialWrites).toEqual([]);
    layer.start();
    await time.advance(1_100);
    expect(counters.denialWrites).toHaveLength(1);
    denyMany();
    await time.settle();
    expect(counters.denialWrites).toHaveLength(2);
    layer.stop();
    denyMany();
    await time.settle();
    expect(counters.denialWrites).toHaveLength(2);
  });

  test.each([
    ["counters", 1, 0],
    ["denials", 0, 1],
    ["both", 1, 1],
  ] as const)(
    "closed in mode %s, it tells what is left to tell: %i counts, %i denials",
    async (mode, rows, denials) => {
      const { time, counters, layer, denyMany } = setUpBusy(mode);
      layer.start();
      denyMany(99);
      await layer.close(1_000, true);
      expect([counters.rowsOf("eu").length, counters.denialWrites.length]).toEqual([rows, denials]);
      expect([counters.closed, time.pending]).toEqual([1, 0]);
    },
  );

  test("closed, it gives up what is under way, and settles though the store does not answer or close", async () => {
    const { time, counters, layer, denyMany } = setUpBusy("both");
    layer.start();
    counters.trouble("stalled");
    await time.advance(1_100);
    denyMany();
    const before = counters.published.length;
    counters.close = () => new Promise<void>(() => {});
    const closing = layer.close(500, true);
    await time.settle();
    // The publish that was under way is over: the last words are a new one.
    expect(counters.published.length).toBe(before + 1);
    await time.advance(500);
    await time.advance(1_000);
    await closing;
    expect(time.pending).toBe(0);
  });

  test("a store that several layers share is closed with the last of them", async () => {
    const { world, time, counters, layer } = setUp();
    const { clock, timers } = time;
    const rest = { publishMs: 1_000, importMs: 2_000, durationMinMs: 60_000, floor: null, errorBudget: 0.02 };
    const given = {
      region: "us",
      mode: "counters" as const,
      originId: async () => null,
      wasOriginEmpty: () => false,
      trace: null,
      namespaceRowsMax: 10,
      workspaceRowsMax: 10,
    };
    const random = new SeededRandom(5);
    const other = new GlobalLayer(world.engine, world.ledger, counters, { ...rest, ...given, clock, timers, random });
    await layer.close(100, true);
    expect(counters.closed).toBe(0);
    await other.close(100, true);
    expect(counters.closed).toBe(1);
  });

  test("stopped, it asks nobody and holds no timer", async () => {
    const { time, counters, layer } = setUp("both");
    layer.start();
    await time.advance(2_500);
    layer.stop();
    const before = counters.published.length;
    expect(time.pending).toBe(0);
    await time.advance(100_000);
    expect(counters.published.length).toBe(before);
  });

  describe("the join at the start", () => {
    test("registers, then reads everything to the last page, even if that takes longer than an import may", async () => {
      const { time, counters, layer } = setUp("counters", { originIds: ["7"] });
      const pages = ["1", "2", "3", undefined];
      const seen: (string | null)[] = [];
      counters.read = async (_, cursor) => {
        expect(counters.registered).toEqual(["eu 7"]);
        seen.push(cursor);
        // Each page takes as long as a whole import may.
        time.pass(2_000);
        const rest = pages.shift();
        return { cells: [], cursor: "9", regionsLive: 2, ...(rest === undefined ? {} : { rest }) };
      };
      layer.start();
      await time.settle();
      expect(seen).toEqual([null, "1", "2", "3"]);
      expect(layer.isImported).toBe(true);
      layer.stop();
    });

    test("a join that fails is retried with growing delays, and no round imports before it has succeeded", async () => {
      const { time, counters, layer } = setUp("counters", { uint32: () => 2 ** 31 });
      const atMs: number[] = [];
      const startMs = time.monoMs;
      const { read } = counters;
      counters.read = (region, cursor) => {
        atMs.push(time.monoMs - startMs);
        return read.call(counters, region, cursor);
      };
      counters.trouble("failing");
      layer.start();
      await time.advance(8_000);
      // 50 ms, doubled each time, up to the 2 s of an import; the middle of the jitter.
      expect(atMs).toEqual([0, 50, 150, 350, 750, 1_550, 3_150, 5_150, 7_150]);
      // Those, and the publishes.
      expect([layer.isImported, layer.failed]).toEqual([false, 9 + 8]);
      counters.heal();
      await time.advance(1_150);
      expect([atMs.length, layer.isImported]).toEqual([10, true]);
      // From here on the rounds import.
      await time.advance(10_000);
      expect(atMs).toHaveLength(15);
      layer.stop();
      expect(time.pending).toBe(0);
    });

    test.each([
      ["counters", 1, 0],
      ["denials", 0, 1],
      ["both", 1, 1],
    ] as const)("in mode %s it is %i reads of the counts and %i of the denials", async (mode, reads, denialReads) => {
      const { time, counters, layer } = setUp(mode);
      layer.start();
      await time.settle();
      expect([counters.reads.length, counters.denialReads, layer.isImported]).toEqual([reads, denialReads, true]);
      layer.stop();
    });

    test("in mode both the counts alone are not enough", async () => {
      const { time, counters, layer } = setUp("both");
      const { read } = counters.denials;
      Object.assign(counters.denials, { read: () => Promise.reject(new Error("away")) });
      layer.start();
      await time.settle();
      expect(layer.isImported).toBe(false);
      Object.assign(counters.denials, { read });
      await time.advance(60);
      expect(layer.isImported).toBe(true);
      layer.stop();
    });

    test("every waiting caller gets an answer, when it is done, at the timeout, or at the stop, and no timer is left", async () => {
      const { time, counters, layer } = setUp();
      counters.trouble("stalled");
      layer.start();
      const answers: unknown[] = [];
      const wait = (timeoutMs: number) =>
        layer.imported(timeoutMs).then((isImported) => answers.push([timeoutMs, isImported]));
      void wait(100);
      void wait(5_000);
      await time.advance(100);
      expect(answers).toEqual([[100, false]]);
      counters.heal();
      await time.settle();
      expect(answers).toEqual([
        [100, false],
        [5_000, true],
      ]);
      layer.stop();
      expect([await layer.imported(5_000), time.pending]).toEqual([true, 0]);
    });

    test("a join that is stopped before it has succeeded is not retried, and waiting callers get false", async () => {
      const { time, counters, layer } = setUp();
      counters.trouble("failing");
      layer.start();
      const answer = layer.imported(5_000);
      await time.settle();
      layer.stop();
      expect([await answer, await layer.imported(5_000), time.pending]).toEqual([false, false, 0]);
      const { length } = counters.reads;
      counters.heal();
      await time.advance(10_000);
      expect([counters.reads.length, layer.isImported]).toEqual([length, false]);
    });

    test("an answer that arrives after the stop joins nothing", async () => {
      const { time, counters, layer } = setUp();
      counters.trouble("stalled");
      layer.start();
      layer.stop();
      counters.heal();
      await time.settle();
      expect(layer.isImported).toBe(false);
    });
  });
});
