import { describe, expect, test } from "vitest";
import { Turnstile } from "./turnstile.ts";

describe("turnstile", () => {
  test("one runs at a time, in the order of arrival, and a failure does not stop the next", async () => {
    const turnstile = new Turnstile();
    const events: string[] = [];
    const work = (name: string) => async () => {
      events.push(`${name} begins`);
      await Promise.resolve();
      events.push(`${name} ends`);
      if (name === "b") throw new Error("b failed");
      return name;
    };
    const all = await Promise.allSettled(["a", "b", "c"].map((name) => turnstile.run("ws", work(name))));
    expect(events).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  test("workspaces take turns, whoever came first and with however many", async () => {
    const turnstile = new Turnstile();
    const begun: string[] = [];
    const enter = (workspaceId: string) =>
      turnstile.run(workspaceId, async () => {
        begun.push(workspaceId);
      });
    const all = ["a", "a", "a", "a", "b", "b", "c"].map(enter);
    await Promise.all(all);
    expect(begun.join("")).toBe("aabcaba");
  });

  test("a workspace has eight there at most, and does not keep others out", async () => {
    const turnstile = new Turnstile();
    let open = () => {};
    const wait = () => new Promise<void>((resolve) => (open = resolve));
    const first = turnstile.run("greedy", wait);
    const waiting = Array.from({ length: 7 }, () => turnstile.run("greedy", async () => {}));
    const refused = turnstile.run("greedy", async () => {});
    await expect(refused).rejects.toMatchObject({ kind: "unavailable", retryAfterS: 1 });
    const other = turnstile.run("other", async () => "served");
    open();
    await Promise.all([first, ...waiting]);
    expect(await other).toBe("served");
    expect(await turnstile.run("greedy", async () => "again")).toBe("again");
  });
});
