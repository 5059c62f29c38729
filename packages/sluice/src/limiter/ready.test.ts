/** A process that has just started: what it says before it has read what the other regions have counted, and how to wait for that. */
import { describe, expect, test } from "vitest";
import { Processes, request } from "../../../../test/support/processes.ts";
import { SluiceError } from "../core/errors.ts";
import type { LimiterEvent } from "./events.ts";
import { Limiter, type ReadyOptions } from "./limiter.ts";

/** A world in which us has used all of a key's limit of 10, and has published it. */
async function worldUsedUp() {
  const world = new Processes();
  const us = world.startRegion("us");
  await us.ask({ cost: 10 });
  await world.time.advance(5_000);
  return world;
}

describe("a process that has just started", () => {
  // Seen: for its first second it knew nothing of the other regions, and its allows were not degraded. Every rolling restart admitted a whole limit more.
  test("denies a key that is used up in another region, once it is ready", async () => {
    const world = await worldUsedUp();
    const { limiter, ask } = world.startRegion("eu");
    expect(await limiter.ready()).toBe(true);
    expect(await ask()).toMatchObject({ success: false, reason: "limit" });
  });

  test.each([
    ["an origin", {}],
    ["no origin", { origin: undefined }],
  ])(
    "with %s, says that it guesses until it has imported: of windows that regions share, and of no others",
    async (_, options) => {
      const world = await worldUsedUp();
      world.counters.trouble("stalled");
      const { limiter, ask } = world.startRegion("eu", options);
      expect(await ask()).toMatchObject({ success: true, degraded: true });
      expect(await ask()).toMatchObject({ success: true, degraded: true });
      expect(await ask({ duration: "59s" })).toMatchObject({ success: true, degraded: false });
      const batch = [request({ identifier: "b" }), request({ identifier: "b", duration: "59s" })];
      const { decisions } = await limiter.limitMany(batch);
      expect(decisions.map(({ degraded }) => degraded)).toEqual([true, false]);
      expect(limiter.stats()).toMatchObject({ decisions: { degraded: 3 }, global: { isImported: false } });
      world.counters.heal();
      await world.time.settle();
      expect(await ask()).toMatchObject({ success: false, reason: "limit" });
      expect(await ask({ identifier: "b" })).toMatchObject({ success: true, degraded: false });
      expect(limiter.stats()).toMatchObject({ decisions: { degraded: 3 }, global: { isImported: true } });
    },
  );

  test("in mode denials, its allows are degraded until it has read the denials", async () => {
    const world = await worldUsedUp();
    world.counters.trouble("stalled");
    const { ask } = world.startRegion("eu", { globalMode: "denials" });
    expect(await ask()).toMatchObject({ success: true, degraded: true });
    world.counters.heal();
    await world.time.settle();
    expect(await ask()).toMatchObject({ success: true, degraded: false });
  });

  test("its degraded period ends with the first import, not because there are no requests", async () => {
    const world = await worldUsedUp();
    const events: LimiterEvent[] = [];
    world.counters.trouble("failing");
    const { ask } = world.startRegion("eu", { onEvent: (event) => events.push(event) });
    await ask();
    await world.time.advance(5_000);
    const told = () => events.filter(({ kind }) => kind === "degraded");
    expect(told()).toMatchObject([{ state: "began" }]);
    world.counters.heal();
    await world.time.advance(3_000);
    expect(told()).toMatchObject([{ state: "began" }, { state: "ended", decisions: 1 }]);
  });
});

describe("ready", () => {
  test("without a global layer there is nothing to wait for", async () => {
    const { time, origin } = new Processes();
    const { clock, timers } = time;
    const bare = new Limiter({ clock, timers });
    expect(await bare.ready()).toBe(true);
    const regional = new Limiter({ clock, timers, origin });
    expect(await regional.ready({ timeoutMs: 0 })).toBe(true);
  });

  test("waits five seconds by default, and does not reject even if the store fails", async () => {
    const { time, counters, startRegion } = bound(new Processes());
    counters.trouble("failing");
    const { limiter } = startRegion("eu");
    const answers: unknown[] = [];
    void limiter.ready().then((isReady) => answers.push(isReady));
    await time.advance(4_999);
    expect(answers).toEqual([]);
    await time.advance(1);
    expect(answers).toEqual([false]);
    // The wait is over, the attempts are not.
    counters.heal();
    await time.advance(1_100);
    expect(await limiter.ready({ timeoutMs: 0 })).toBe(true);
  });

  test("a close ends the wait, and leaves no timer; after it the answer is what was true", async () => {
    const { time, counters, startRegion } = bound(new Processes());
    const imported = startRegion("us").limiter;
    await time.settle();
    counters.trouble("failing");
    const { limiter } = startRegion("eu", { closeTimeoutMs: 0 });
    const waiting = limiter.ready({ timeoutMs: 60_000 });
    const closing = Promise.all([limiter.close(), imported.close()]);
    await time.advance(2_000);
    await closing;
    expect(await waiting).toBe(false);
    expect([await limiter.ready(), await imported.ready()]).toEqual([false, true]);
    expect(time.pending).toBe(0);
  });

  test.each([-1, 60_001, Number.NaN, "5000", null])("a timeoutMs of %j is misuse", async (timeoutMs) => {
    const answer = new Limiter().ready({ timeoutMs } as ReadyOptions);
    await expect(answer).rejects.toThrow(SluiceError);
    await expect(answer).rejects.toMatchObject({ code: "RL_INTERVAL_INVALID", field: "timeoutMs", value: timeoutMs });
    await expect(answer).rejects.toThrow("timeoutMs must be a number of milliseconds from 0 to 60000; got ");
  });

  test("an unknown option is misuse, and so is a value that is not an object", async () => {
    const limiter = new Limiter();
    await expect(limiter.ready({ timeout: 5 } as ReadyOptions)).rejects.toThrow(/did you mean timeoutMs\?/);
    await expect(limiter.ready(5 as ReadyOptions)).rejects.toMatchObject({ code: "RL_OPTIONS_INVALID" });
  });
});

function bound(world: Processes) {
  const { time, counters } = world;
  return { time, counters, startRegion: world.startRegion.bind(world) };
}
