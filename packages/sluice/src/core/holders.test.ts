import { expect, test } from "vitest";
import { hold, letGo } from "./holders.ts";

test("a store is closed by the last of those who hold it, however often it is held anew", () => {
  const [store, other] = [{}, {}];
  for (let life = 0; life < 2; life++) {
    for (let holder = 0; holder < 3; holder++) hold(store);
    hold(other);
    expect([letGo(store), letGo(store), letGo(store)]).toEqual([false, false, true]);
    expect(letGo(other), "each store has its own").toBe(true);
  }
});

test("a store that nobody holds is let go at once", () => {
  const store = {};
  expect([letGo(store), letGo(store)]).toEqual([true, true]);
  hold(store);
  expect(letGo(store)).toBe(true);
});
