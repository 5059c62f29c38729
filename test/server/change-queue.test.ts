/** The queue before the admin store, in time by hand. */
import { describe, expect, test } from "vitest";
import { TooManyChanges } from "../../packages/server/src/admin/admin-store.ts";
import { ChangeQueue } from "../../packages/server/src/admin/change-queue.ts";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { ManualTime } from "../support/manual-time.ts";

/** A queue whose work ends when the test says so. */
function queueWithGate(isBlocking = false) {
  const time = new ManualTime();
  const queue = new ChangeQueue({ ...SYSTEM, clock: time.clock, timers: time.timers }, { isBlocking });
  const done: string[] = [];
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const first = queue.run("ws_first", () => gate);
  const add = (workspaceId: string | null, name: string) =>
    queue.run(workspaceId, async () => {
      done.push(name);
    });
  return { time, queue, done, add, open, first };
}

const isRefused = (work: Promise<unknown>) =>
  work.then(
    () => false,
    (error: unknown) => error instanceof TooManyChanges,
  );

describe("change queue", () => {
  test("workspaces take turns, and one piece of work runs at a time", async () => {
    const { done, add, open } = queueWithGate();
    const all = [add("a", "a1"), add("a", "a2"), add("a", "a3"), add("b", "b1"), add(null, "operator"), add("b", "b2")];
    expect(done).toEqual([]);
    open();
    await Promise.all(all);
    expect(done).toEqual(["a1", "b1", "operator", "a2", "b2", "a3"]);
  });

  test("a workspace that fills its share is refused at once, and the others are not", async () => {
    const { add, open, done } = queueWithGate();
    const taken = Array.from({ length: 100 }, (_, i) => add("a", `a${i}`));
    expect(await isRefused(add("a", "one more"))).toBe(true);
    const other = add("b", "b1");
    open();
    await Promise.all([...taken, other]);
    expect(done.indexOf("b1")).toBe(1);
    expect(done).toHaveLength(101);
  });

  test("all workspaces together may not fill it without end, and the operator is never refused", async () => {
    const { add, open, done } = queueWithGate();
    const taken = Array.from({ length: 1_000 }, (_, i) => add(`ws_${i % 10}`, `change ${i}`));
    expect(await isRefused(add("ws_new", "one more"))).toBe(true);
    const operator = Array.from({ length: 200 }, (_, i) => add(null, `operator ${i}`));
    open();
    await Promise.all([...taken, ...operator]);
    expect(done).toHaveLength(1_200);
  });

  test("work that waited for too long is refused when its turn comes, and not begun", async () => {
    const { time, add, open, done } = queueWithGate();
    const late = isRefused(add("a", "late"));
    const operator = add(null, "operator");
    await time.advance(5_001);
    open();
    expect(await late).toBe(true);
    await operator;
    expect(done).toEqual(["operator"]);
  });

  test("on a store that blocks, the process is free for as long as the last piece of work took", async () => {
    const { time, add, open, done, first } = queueWithGate(true);
    await time.advance(30);
    open();
    await first;
    // Nothing waited. Requests that arrive together must not run in one go, either.
    const next = add("a", "next");
    await time.advance(29);
    expect(done).toEqual([]);
    await time.advance(1);
    await next;
    expect(done).toEqual(["next"]);
    await time.advance(0);
    expect(time.pending).toBe(0);
  });

  test("a failure is that of its own work alone", async () => {
    const { queue, add, open } = queueWithGate();
    const failed = queue.run("a", () => Promise.reject(new Error("no disk")));
    const next = add("a", "next");
    open();
    await expect(failed).rejects.toThrow("no disk");
    await expect(next).resolves.toBeUndefined();
  });
});
