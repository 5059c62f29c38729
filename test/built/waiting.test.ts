/** Nobody waits longer than one read timeout, and a process does not end under somebody who waits. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { Processes } from "../support/processes.ts";

const TIMEOUT_MS = 300;

describe("a request that waits", () => {
  test("is answered within one read timeout, though it first waits for a read that is too old for it", async () => {
    const world = new Processes();
    const { time, origin } = world;
    const { ask, askNow, limiter } = world.start();
    await ask({ cost: 9 });
    // Denied: from now on the key is strict, and every allow reads first.
    expect(askNow({ cost: 5 })).toMatchObject({ success: false });
    origin.trouble("stalled", "reads");
    void ask({ limit: 100 });
    await time.advance(20);
    // The read of the first began before this denial.
    expect(askNow({ cost: 5 })).toMatchObject({ success: false });
    await time.advance(1);
    let waitedMs: number | undefined;
    const beganMs = time.monoMs;
    const waiting = limiter
      .limit({ namespace: "api", identifier: "user_42", limit: 100, duration: "1m" })
      .then((answer) => {
        waitedMs = time.monoMs - beganMs;
        return answer;
      });
    // That read ends just in time, and the next one takes too long.
    await time.advance(TIMEOUT_MS - 50);
    origin.heal();
    origin.trouble("stalled", "reads");
    await time.advance(49);
    expect(waitedMs).toBeUndefined();
    await time.advance(TIMEOUT_MS);
    expect(await waiting).toMatchObject({ success: true, degraded: true });
    expect(waitedMs).toBeLessThanOrEqual(TIMEOUT_MS);
    origin.heal();
    await time.settle();
  });

  // In a process with nothing else that would keep it alive: what is printed, and the code it ends with.
  test.each([
    ["a request", "console.log((await limiter.limit(key)).degraded);", "true"],
    ["close", "void limiter.limit(key); console.log((await limiter.close()).lost);", "1"],
  ])("keeps its process alive on an origin that never answers: %s", async (_, ask, printed) => {
    const built = new URL("../../packages/sluice/dist/index.js", import.meta.url).href;
    const script = `
      const { Limiter } = await import(${JSON.stringify(built)});
      const never = () => new Promise(() => {});
      const limiter = new Limiter({ origin: { raise: never, read: never, close: async () => {} }, closeTimeoutMs: 200 });
      const key = { namespace: "api", identifier: "user_42", limit: 10, duration: "1m" };
      ${ask}`;
    const args = ["--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: fileURLToPath(new URL("..", import.meta.url)),
    });
    expect(stdout.trim()).toBe(printed);
  });
});
