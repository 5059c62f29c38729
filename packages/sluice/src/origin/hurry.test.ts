/** Cells that near their limit go ahead of the flush: what four processes do not know of each other is then a round trip old. */
import { describe, expect, test } from "vitest";
import { FLUSH_MS, keyText, MINUTE_MS, Processes } from "../../../../test/support/processes.ts";

/** A tenth of a flush interval. */
const AHEAD_MS = FLUSH_MS / 10;
/** Room that is used up in 8 flush intervals of a minute's window: 400 / 60,000 of the limit, here 6 and two thirds. */
const LIMIT = 1_000;
const NEAR = LIMIT - 6;

/** A process whose key is known, fresh and replayed, just after a flush. */
async function warm(options = {}, fields = {}) {
  const world = new Processes();
  const process = world.start(options);
  const { time, origin } = world;
  await process.ask({ limit: LIMIT, ...fields });
  await time.advance(FLUSH_MS);
  origin.raises.length = 0;
  return { world, time, origin, ...process };
}

describe("a cell near its limit", () => {
  test("is replayed a tenth of a flush interval later, before all others", async () => {
    const { ask, time, origin } = await warm();
    await ask({ limit: LIMIT, identifier: "calm" });
    origin.raises.length = 0;
    await ask({ limit: LIMIT, cost: NEAR - 1 });
    await time.advance(AHEAD_MS);
    expect(origin.cellsRaised().map(({ key, total }) => [key, total])).toEqual([[keyText(), NEAR]]);
  });

  test("is not hurried while its limit has more room than eight flush intervals fill", async () => {
    const { ask, time, origin } = await warm();
    await ask({ limit: LIMIT, cost: NEAR - 2 });
    await time.advance(AHEAD_MS);
    expect(origin.raises).toEqual([]);
  });

  test("hurries from half of its limit at the latest, in the shortest windows", async () => {
    for (const [cost, times] of [
      [497, 0],
      [499, 1],
    ] as const) {
      const { ask, time, origin } = await warm({ flushMs: 100 }, { duration: "1s" });
      await time.advance(FLUSH_MS);
      await ask({ limit: LIMIT, duration: "1s" });
      await time.advance(100);
      // Counted at the origin, which then knows of it: only what memory counts hurries.
      await ask({ limit: LIMIT, duration: "1s" });
      origin.raises.length = 0;
      await ask({ limit: LIMIT, duration: "1s", cost });
      await time.advance(10);
      expect(origin.raises).toHaveLength(times);
    }
  });

  test("many that hurry go together, once", async () => {
    const { ask, time, origin } = await warm();
    const identifiers = ["a", "b", "c"];
    for (const identifier of identifiers) await ask({ limit: LIMIT, identifier });
    await time.advance(FLUSH_MS);
    origin.raises.length = 0;
    for (const identifier of identifiers) {
      for (let i = 0; i < 3; i++) await ask({ limit: LIMIT, identifier, cost: 332 });
    }
    await time.advance(AHEAD_MS);
    expect(origin.raises).toHaveLength(1);
    expect(origin.cellsRaised().map(({ total }) => total)).toEqual([997, 997, 997]);
  });

  test("takes from the budget of the flush: no more goes out in an interval than the budget says", async () => {
    // One per 50 ms. The flush that has just been had two, its own and the one from before it, and took one of them.
    const { ask, time, origin } = await warm({ commandsPerSecond: 20 });
    await ask({ limit: LIMIT, cost: NEAR - 1 });
    await time.advance(AHEAD_MS);
    await ask({ limit: LIMIT });
    await time.advance(AHEAD_MS);
    expect(origin.cellsRaised().map(({ total }) => total)).toEqual([NEAR]);
    await time.advance(FLUSH_MS);
    expect(origin.cellsRaised().map(({ total }) => total)).toEqual([NEAR, NEAR + 1]);
  });

  test("a flush that is due while they are under way follows their answer, not an interval later", async () => {
    const { ask, time, origin } = await warm();
    await ask({ limit: LIMIT, identifier: "calm" });
    await time.advance(FLUSH_MS - 6);
    await ask({ limit: LIMIT, cost: NEAR - 1 });
    origin.trouble("stalled", "raises");
    await time.advance(AHEAD_MS);
    origin.raises.length = 0;
    await time.advance(FLUSH_MS / 2);
    expect(origin.raises, "the regular flush is due, and waits").toEqual([]);
    origin.heal();
    await time.settle();
    expect(origin.cellsRaised().map(({ key }) => key)).toEqual([keyText("calm")]);
  });

  test("the others hear of it with their own next hurry, before any flush", async () => {
    const { world, ask, time } = await warm();
    const other = world.start();
    await other.ask({ limit: LIMIT });
    await ask({ limit: LIMIT, cost: NEAR - 1 });
    await time.advance(AHEAD_MS);
    await other.ask({ limit: LIMIT, cost: 0 });
    const { current } = other.limiter.inspect({ namespace: "api", identifier: "user_42", duration: MINUTE_MS });
    expect(current).toMatchObject({ own: 1 });
    // What it believed: 1 of its own and 1 of the first. Its next cost brings it near, and the answer brings the rest.
    await other.ask({ limit: 3 });
    await time.advance(AHEAD_MS);
    expect(
      other.limiter.inspect({ namespace: "api", identifier: "user_42", duration: MINUTE_MS }).current,
    ).toMatchObject({ own: 2, others: NEAR });
  });

  test("is hurried by the charge that brings it there or beyond, and not by those after it", async () => {
    const { limiter, time, origin } = await warm();
    const charge = async (cost: number) => {
      origin.raises.length = 0;
      limiter.charge({ namespace: "api", identifier: "user_42", duration: MINUTE_MS, limit: LIMIT, cost });
      await time.advance(AHEAD_MS);
      return origin.cellsRaised().map(({ total }) => total);
    };
    expect(await charge(10)).toEqual([]);
    expect(await charge(5 * LIMIT)).toEqual([5 * LIMIT + 11]);
    // Everybody knows by now that the key is over its limit: more of it can wait for the flush.
    for (let i = 0; i < 3; i++) expect(await charge(LIMIT)).toEqual([]);
    origin.raises.length = 0;
    await time.advance(FLUSH_MS);
    expect(origin.cellsRaised().map(({ total }) => total)).toEqual([8 * LIMIT + 11]);
  });

  test("leaves no timer behind when the limiter closes", async () => {
    const { ask, time, limiter } = await warm();
    await ask({ limit: LIMIT, cost: NEAR });
    const closing = limiter.close();
    await time.advance(FLUSH_MS);
    await expect(closing).resolves.toEqual({ lost: 0 });
    expect(time.pending).toBe(0);
  });
});
