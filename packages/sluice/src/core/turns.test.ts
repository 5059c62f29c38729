import { expect, test } from "vitest";
import { inTurns, nextTurn } from "./turns.ts";

/** Timers whose turn comes when the test says so. */
function setUp() {
  const set: { callback: () => void; delayMs: number; keepsAlive: boolean | undefined }[] = [];
  const timers = {
    set: (callback: () => void, delayMs: number, keepsAlive?: boolean) => set.push({ callback, delayMs, keepsAlive }),
    clear: () => {},
  };
  const turn = async () => {
    set.shift()?.callback();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { set, timers, turn };
}

test("the next turn is a timer of no delay that keeps the process alive", async () => {
  const { set, timers, turn } = setUp();
  const next = nextTurn(timers);
  expect(set).toMatchObject([{ delayMs: 0, keepsAlive: true }]);
  await turn();
  await next;
});

test.each([
  [0, []],
  [1, [1]],
  [500, [500]],
  [501, [500, 1]],
  [1_500, [500, 500, 500]],
])("work on %i things is done in turns, each once and in order, and the first at once", async (count, turns) => {
  const { set, timers, turn } = setUp();
  const items = Array.from({ length: count }, (_, i) => i);
  const done: number[] = [];
  const worked = inTurns(items, timers, (item) => done.push(item));
  const perTurn: number[] = [];
  for (let before = 0; done.length > before; ) {
    perTurn.push(done.length - before);
    before = done.length;
    await turn();
  }
  expect(perTurn).toEqual(turns);
  await worked;
  expect([done, set]).toEqual([items, []]);
});
