/** Workers of one parent near a limit: they ask before they allow and report before they answer, within the read timeout. */
import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import type { Decision } from "../engine/decision.ts";
import type { Origin } from "../origin/origin.ts";
import { Limiter } from "./limiter.ts";
import { memoryOrigin } from "./memory-stores.ts";

const READ_TIMEOUT_MS = 300;
const REQUEST = { namespace: "api", identifier: "user", duration: "1h" } as const;

/** One worker in the middle of an hour, and a parent that answers after `delayMs`, or not at all from its `silentFrom`-th call on. */
function setUp() {
  const time = new ManualTime();
  time.pass(1_800_000);
  const store = memoryOrigin({ clock: time.clock });
  const parent = { calls: 0, silentFrom: Number.POSITIVE_INFINITY, delayMs: 0, raises: 0 };
  const answered = async <T>(answer: () => Promise<T>): Promise<T> => {
    if (++parent.calls >= parent.silentFrom) await new Promise(() => {});
    if (parent.delayMs > 0) await new Promise<void>((resolve) => time.timers.set(resolve, parent.delayMs));
    return answer();
  };
  const origin: Origin = {
    isNear: true,
    raise: (raises) => {
      parent.raises++;
      return answered(() => store.raise(raises));
    },
    read: (reads) => answered(() => store.read(reads)),
    close: async () => {},
  };
  const { clock, timers } = time;
  const start = (seed: number) => new Limiter({ origin, clock, timers, random: new SeededRandom(seed) });
  const limiter = start(1);
  /** The answer, and the time it took. */
  const ask = async (limit: number, cost = 1): Promise<[Decision, number]> => {
    const beganMs = time.monoMs;
    const asked = limiter.limit({ ...REQUEST, limit, cost });
    for (;;) {
      const answer = await Promise.race([asked, time.settle().then(() => null)]);
      if (answer !== null) return [answer, time.monoMs - beganMs];
      await time.advance(1);
    }
  };
  return { time, parent, limiter, start, ask };
}

describe("near a limit, with an origin that is near", () => {
  test("a charge is sent at once, without waiting: another worker that asks next knows of it", async () => {
    const { time, parent, limiter, start } = setUp();
    const other = start(2);
    for (let failures = 1; failures <= 3; failures++) {
      expect(limiter.charge({ ...REQUEST, limit: 3 })).toMatchObject({ success: true, current: failures });
      await time.settle();
      expect(parent.raises).toBe(failures);
      expect(await other.limit({ ...REQUEST, limit: 3, cost: 0 })).toMatchObject({ remaining: 3 - failures });
    }
    // Beyond the limit there is no hurry any more.
    limiter.charge({ ...REQUEST, limit: 3 });
    await time.settle();
    limiter.charge({ ...REQUEST, limit: 3 });
    await time.settle();
    expect(parent.raises).toBe(4);
  });

  test("a request asks if it leaves less than 10, or less than a tenth of its limit", async () => {
    for (const [limit, far] of [
      [30, 20],
      [500, 450],
    ] as const) {
      const { parent, ask } = setUp();
      await ask(limit, far - 1);
      const calls = parent.calls;
      expect((await ask(limit))[0]).toMatchObject({ remaining: limit - far, source: "local" });
      expect(parent.calls).toBe(calls);
      expect((await ask(limit))[0]).toMatchObject({ remaining: limit - far - 1, source: "origin", degraded: false });
      expect(parent.calls).toBeGreaterThan(calls);
    }
  });

  test("a parent that is silent holds a request up for one read timeout, and the answer says that it is a guess", async () => {
    const { parent, ask } = setUp();
    await ask(5);
    parent.silentFrom = parent.calls + 1;
    expect(await ask(5)).toEqual([expect.objectContaining({ success: true, remaining: 3, degraded: true }), 300]);
  });

  test("the same if it becomes silent between the question and the report, whose time is what the question left", async () => {
    const { parent, limiter, ask } = setUp();
    parent.delayMs = 100;
    parent.silentFrom = 2;
    const [answer, tookMs] = await ask(5);
    expect(answer).toMatchObject({ success: true, remaining: 4, source: "origin", degraded: true });
    expect(tookMs).toBe(READ_TIMEOUT_MS);
    expect(limiter.stats().decisions.degraded).toBe(1);
    expect(limiter.inspect({ ...REQUEST, limit: 5 }).current.own).toBe(1);
  });

  test("requests that are decided together share a report, and are allowed as often as there is room", async () => {
    const { time, parent, limiter } = setUp();
    const asked = Promise.all(Array.from({ length: 50 }, () => limiter.limit({ ...REQUEST, limit: 10 })));
    await time.settle();
    const answers = await asked;
    expect(answers.filter(({ success }) => success)).toHaveLength(10);
    // All wait for one read; the first is reported alone, the others with the next report.
    expect(parent.raises).toBeLessThanOrEqual(2);
  });

  test("a batch is reported whole before it is answered", async () => {
    const { limiter, start } = setUp();
    const other = start(2);
    const batch = ["a", "b"].map((identifier) => ({ ...REQUEST, identifier, limit: 3, cost: 2 }));
    expect((await limiter.limitMany(batch)).success).toBe(true);
    for (const identifier of ["a", "b"]) {
      expect(await other.limit({ ...REQUEST, identifier, limit: 3 })).toMatchObject({ success: true, remaining: 0 });
    }
    expect((await limiter.limitMany(batch)).success).toBe(false);
  });
});
