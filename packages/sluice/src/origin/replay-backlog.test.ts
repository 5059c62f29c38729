/** What replay does with more cells than one flush looks at: tens of thousands, after an outage or a loss. */
import { describe, expect, test } from "vitest";
import { replaying } from "../../../../test/support/replaying-engine.ts";

/** So many keys whose origin has just been seen to have lost them all. */
async function afterLoss(keys: number) {
  const all = replaying(100_000, keys);
  const { world, replay, origin } = all;
  for (let i = 0; i < keys; i++) {
    world.accept(`user_${i}`, 1);
    world.engine.table.raiseFreshUntil(world.slot(`user_${i}`), world.previous, Number.MAX_SAFE_INTEGER);
  }
  await replay.flushOnce();
  await replay.flushOnce();
  await origin.lose();
  await replay.flushOnce();
  return all;
}

describe("a large backlog", () => {
  test("after an outage a flush looks at some thousands of those that wait, and all get their turn", async () => {
    const { world, time, replay, raised, origin } = replaying(1_000, 20_000);
    for (let i = 0; i < 20_000; i++) world.accept(`user_${i}`, 1);
    let looked = 0;
    const { table } = world.engine;
    const view = table.viewCurrent.bind(table);
    table.viewCurrent = (slot) => {
      looked++;
      return view(slot);
    };
    await replay.flushOnce();
    expect(looked).toBeLessThanOrEqual(16_384);
    expect(raised()).toHaveLength(1_000);
    for (let flush = 1; flush < 25; flush++) {
      time.pass(50);
      await replay.flushOnce();
    }
    expect(new Set(origin.cellsRaised().map(({ key }) => key)).size).toBe(20_000);
    expect(replay.unconfirmed()).toBe(0);
  });

  test("after a loss many slots are healed in steps, and what close asks for counts them all at once", async () => {
    const { world, replay, sum } = await afterLoss(40_000);
    expect(world.ledger.unreplayed.size).toBe(32_768);
    expect(replay.unconfirmed()).toBe(40_000);
    expect(world.ledger.unreplayed.size).toBe(40_000);
    await replay.flushOnce();
    expect(replay.unconfirmed()).toBe(0);
    expect([await sum("user_0"), await sum("user_39999")]).toEqual([1, 1]);
  });

  test("while slots are left to heal after a loss, cost may be waiting", async () => {
    // 32,768 are healed when the loss is seen, and as many before the flush after it.
    const { time, replay } = await afterLoss(70_000);
    const waitedMs: number[] = [];
    for (let flush = 0; flush < 3; flush++) {
      time.pass(50);
      await replay.flushOnce();
      waitedMs.push(replay.unconfirmedForMs);
    }
    expect(waitedMs).toEqual([50, 0, 0]);
  });

  test("a flush carries 16 MiB of names at most; the others go with the next, and cost may be waiting until then", async () => {
    const { world, time, replay, origin } = replaying(100_000, 200_000);
    const longest = (i: number) => "\u{1F600}".repeat(506) + String(i).padStart(6, "0");
    for (let i = 0; i < 8_000; i++) world.accept(longest(i));
    const { bytes } = world.ledger.name(world.slot(longest(0)))!;
    const first = Math.floor((16 * 2 ** 20) / bytes);
    time.pass(1_000);
    await replay.flushOnce();
    expect(world.ledger.unreplayed.size).toBe(8_000 - first);
    expect(replay.unconfirmedForMs).toBe(1_000);
    await replay.flushOnce();
    expect([world.ledger.unreplayed.size, replay.unconfirmedForMs]).toEqual([0, 0]);
    expect(new Set(origin.cellsRaised().map(({ key }) => key)).size).toBe(8_000);
  });
});
