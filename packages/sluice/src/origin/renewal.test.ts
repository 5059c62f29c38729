/** Busy keys are answered from memory: they are replayed before their freshness ends, whatever the flush interval. */
import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { FLUSH_MS, keyText, Processes } from "../../../../test/support/processes.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { type Duration, Limiter, memoryOrigin, type Origin } from "../index.ts";
import { freshnessMs } from "./freshness.ts";

interface Calm {
  readonly duration: number;
  readonly flushMs?: number;
  readonly roundTripMs: number;
  /** Keys that are requested in turn, one request every millisecond in all. */
  readonly keys?: number;
  readonly everyMs?: number;
  readonly commandsPerSecond?: number;
}

/** An origin in memory that answers after a round trip, and counts what it was sent. */
function farOrigin(time: ManualTime, roundTripMs: number) {
  const inner = memoryOrigin({ clock: time.clock });
  const later = () => new Promise<void>((resolve) => void time.timers.set(resolve, roundTripMs / 2));
  const sent = { reads: 0, flushes: 0, raises: 0 };
  const origin: Origin = {
    async read(reads) {
      sent.reads++;
      await later();
      const answers = await inner.read(reads);
      await later();
      return answers;
    },
    async raise(raises) {
      // The last raise of a flush is the heartbeat. A read may come with raises of its own.
      const isFlush = raises.at(-1)?.key.startsWith("heartbeat") === true;
      if (isFlush) sent.flushes++;
      sent.raises += raises.length - (isFlush ? 1 : 0);
      await later();
      const answers = await inner.raise(raises);
      await later();
      return answers;
    },
    close: () => inner.close(),
  };
  return { origin, sent };
}

/** A world without faults: the key is requested all the time, for some windows, after a first read. */
async function calm({ duration, roundTripMs, flushMs = FLUSH_MS, keys = 1, everyMs = 1, commandsPerSecond }: Calm) {
  const time = new ManualTime();
  const { origin, sent } = farOrigin(time, roundTripMs);
  const limiter = new Limiter({
    origin,
    flushMs,
    clock: time.clock,
    timers: time.timers,
    random: new SeededRandom(7),
    ...(commandsPerSecond === undefined ? {} : { commandsPerSecond }),
  });
  const isAnsweredAtOnce = (i: number) => {
    const request = { namespace: "api", identifier: `user_${i % keys}`, limit: 1e9, duration: duration as Duration };
    return !(limiter.decide(request) instanceof Promise);
  };
  for (let i = 0; i < keys; i++) isAnsweredAtOnce(i);
  await time.advance(roundTripMs + 1);
  Object.assign(sent, { reads: 0, flushes: 0, raises: 0 });
  const lengthMs = Math.max(2_200, 8 * freshnessMs(duration), 4 * flushMs);
  let waited = 0;
  let requests = 0;
  for (let ms = 0; ms < lengthMs; ms += everyMs) {
    if (!isAnsweredAtOnce(requests)) waited++;
    requests++;
    await time.advance(everyMs);
  }
  const counts = { ...sent };
  void limiter.close();
  return { ...counts, requests, waited, perSecond: (count: number) => (count * 1_000) / lengthMs };
}

describe("a busy key", () => {
  const durations = [1_000, 1_100, 1_200, 1_500, 1_700, 2_000, 2_100, 3_000, 5_000, 10_000];
  test.each(durations)(
    "of windows of %i ms never waits for the origin, up to a third of its freshness away",
    async (duration) => {
      for (const part of [0.02, 1 / 3]) {
        const roundTripMs = freshnessMs(duration) * part;
        const { waited, reads } = await calm({ duration, roundTripMs });
        expect([roundTripMs, waited, reads]).toEqual([roundTripMs, 0, 0]);
      }
    },
  );

  test.each([5, 7, 13, 20, 30, 31, 33, 49, 51, 60, 100, 333, 1_000])(
    "never waits with a flush interval of %i ms",
    async (flushMs) => {
      for (const duration of [1_000, 1_300, 7_000]) {
        const roundTripMs = Math.floor(freshnessMs(duration) / 3);
        const { waited } = await calm({ duration, flushMs, roundTripMs, everyMs: 2 });
        expect([duration, waited]).toEqual([duration, 0]);
      }
    },
  );

  test("never waits beside many others, which were first requested at other times", async () => {
    const { waited } = await calm({ duration: 1_000, flushMs: 1_000, roundTripMs: 10, keys: 9 });
    expect(waited).toBe(0);
  });
});

describe("what it costs", () => {
  test("windows of 1 s: at most one flush more per flush, and two raises in each", async () => {
    const { flushes, raises, perSecond } = await calm({ duration: 1_000, roundTripMs: 1 });
    expect(perSecond(flushes)).toBeLessThanOrEqual(2 * (1_000 / FLUSH_MS) + 1);
    expect(raises).toBeLessThanOrEqual(2 * flushes);
  });

  test("windows of 1 s with the longest flush interval: a flush for half of the freshness", async () => {
    const { flushes, perSecond } = await calm({ duration: 1_000, flushMs: 1_000, roundTripMs: 1 });
    expect(perSecond(flushes)).toBeLessThanOrEqual(1_000 / (freshnessMs(1_000) / 2) + 2);
  });

  test.each([2_000, 3_000, 10_000, 60_000])(
    "windows of %i ms: no flush more than the regular ones",
    async (duration) => {
      const { flushes, perSecond } = await calm({ duration, roundTripMs: 1 });
      expect(perSecond(flushes)).toBeLessThanOrEqual(1_000 / FLUSH_MS + 1);
    },
  );

  test("many keys of short windows share the flushes", async () => {
    const { flushes, perSecond } = await calm({ duration: 1_000, roundTripMs: 1, keys: 8 });
    expect(perSecond(flushes)).toBeLessThanOrEqual(2 * (1_000 / FLUSH_MS) + 1);
  });

  test("the command budget holds", async () => {
    const { raises, perSecond } = await calm({ duration: 1_000, roundTripMs: 1, commandsPerSecond: 40 });
    expect(perSecond(raises)).toBeLessThanOrEqual(41);
  });
});

describe("renewal", () => {
  const SHORT = { limit: 1_000_000, duration: 1_000 } as const;

  /** A process whose key is known, fresh and replayed, just after a flush. */
  async function warm(options = {}) {
    const world = new Processes();
    const process = world.start(options);
    await process.ask(SHORT);
    await world.time.advance(FLUSH_MS);
    world.origin.raises.length = 0;
    return { world, time: world.time, origin: world.origin, ...process };
  }

  test("sends both cells once half of the freshness is over", async () => {
    const world = new Processes();
    const { time, origin } = world;
    await world.start().ask(SHORT);
    await time.advance(24);
    expect(origin.raises).toEqual([]);
    await time.advance(1);
    const sequence = Math.floor(time.wallMs / 1_000);
    const sent = origin.cellsRaised().map((raise) => [raise.key, raise.sequence]);
    expect(sent).toEqual([
      [keyText("user_42", 1_000), sequence],
      [keyText("user_42", 1_000), sequence - 1],
    ]);
  });

  test("leaves alone a key that has accepted nothing since it was sent", async () => {
    const { ask, time, origin } = await warm();
    await ask({ ...SHORT, cost: 0 });
    await time.advance(FLUSH_MS - 1);
    expect(origin.raises).toEqual([]);
  });

  test("leaves alone a key that is no longer fresh: a request reads it", async () => {
    const { askNow, ask, time, origin } = await warm();
    origin.trouble("failing");
    await ask(SHORT);
    await time.advance(3 * FLUSH_MS);
    origin.raises.length = 0;
    await time.advance(1);
    askNow(SHORT);
    await time.advance(20);
    expect(origin.raises.length).toBeLessThanOrEqual(1);
  });

  test("a clock that fails in a timer does not end the process, and renewals continue when it recovers", async () => {
    const world = new Processes();
    const { time, origin } = world;
    let isBroken = false;
    const monoMs = () => {
      if (isBroken) throw new Error("no clock");
      return time.monoMs;
    };
    const { ask } = world.start({ clock: { wallMs: () => time.wallMs, monoMs } });
    await ask(SHORT);
    isBroken = true;
    await time.advance(2 * FLUSH_MS);
    expect(origin.raises).toEqual([]);
    isBroken = false;
    await time.advance(FLUSH_MS);
    await ask(SHORT);
    origin.raises.length = 0;
    await time.advance(25);
    expect(origin.raises).toHaveLength(1);
  });

  test("gets half of the command budget: keys of long windows are replayed in time", async () => {
    const world = new Processes();
    const { time, origin } = world;
    // 200 commands per second: 100 for renewals, which is 50 keys of two cells.
    const { askNow } = world.start({ flushMs: 1_000, commandsPerSecond: 200 });
    for (let ms = 0; ms < 4_000; ms++) {
      askNow({ ...SHORT, identifier: `short_${ms % 40}` });
      if (ms % 100 === 0) askNow({ limit: 1_000_000, identifier: `long_${(ms / 100) % 10}` });
      await time.advance(1);
    }
    const long = origin.cellsRaised().filter(({ key }) => key.includes("long_"));
    // Ten keys that are each accepted once per second, in three flushes.
    expect(new Set(long.map(({ key }) => key)).size).toBe(10);
    expect(long.length).toBeGreaterThanOrEqual(30);
  });

  test("leaves no timer behind when the limiter closes", async () => {
    const { ask, time, limiter } = await warm();
    await ask(SHORT);
    const closing = limiter.close();
    await time.advance(FLUSH_MS);
    await expect(closing).resolves.toEqual({ lost: 0 });
    expect(time.pending).toBe(0);
  });
});
