import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { TroubledOrigin } from "../../../../test/support/troubled-stores.ts";
import type { ConnectionEvent } from "./origin.ts";
import { OriginCalls } from "./origin-calls.ts";

const READ = { key: "a", sequence: 1, writer: "w" };

function setUp() {
  const time = new ManualTime();
  const origin = new TroubledOrigin(time);
  return { time, origin, calls: new OriginCalls(origin, time.clock, time.timers) };
}

describe("origin calls", () => {
  test("answers come back in order, and calls are counted by kind", async () => {
    const { origin, calls } = setUp();
    await origin.accept("a", 1, 5);
    const raise = { ...READ, key: "b", total: 2, expiresAtMs: 9e12 };
    expect(await calls.read([{ ...READ, key: "b" }, READ], 100)).toEqual([
      { sum: 0, component: 0 },
      { sum: 5, component: 0 },
    ]);
    expect(await calls.raise([raise], 100)).toEqual([{ sum: 2, component: 2 }]);
    expect(calls.tally).toMatchObject({ reads: 1, raises: 1, failed: 0, late: 0, junk: 0 });
  });

  test("a call that fails or is late brings null, and is counted as what it was", async () => {
    const { time, origin, calls } = setUp();
    origin.trouble("failing");
    expect(await calls.read([READ], 100)).toBeNull();
    origin.trouble("stalled");
    const late = calls.read([READ], 100);
    await time.advance(100);
    expect(await late).toBeNull();
    expect(calls.tally).toMatchObject({ failed: 1, late: 1 });
  });

  test("an answer to an admit is junk unless it says yes or no to every request", async () => {
    const { time } = setUp();
    const count = { sum: 3, component: 1 };
    const answer = (allowed: unknown) => ({ allowed, current: count, previous: count });
    const answers = [answer([true]), answer([1]), answer([]), answer("y"), { ...answer([true]), current: null }];
    const repeated = answer(null);
    const odd = { admit: async () => [...answers, repeated] as never, raise: async () => [], read: async () => [] };
    const calls = new OriginCalls({ ...odd, close: async () => {} }, time.clock, time.timers);
    const admit = { ...READ, requests: [{ limit: 1, cost: 1 }] } as never;
    expect(await calls.admit(Array(6).fill(admit), 100)).toEqual([answers[0], null, null, null, null, repeated]);
    expect(calls.tally).toMatchObject({ admits: 1, junk: 4, unknown: 1 });
  });

  test("one junk answer among good ones is null, and the others stand", async () => {
    const { time } = setUp();
    const answers = [
      { sum: 1, component: 1 },
      { sum: 1, component: 2 },
      null,
      { sum: -1, component: 0 },
      { sum: 2 ** 53, component: 0 },
      { sum: Number.NaN, component: Number.NaN },
      undefined,
    ];
    const odd = { read: async () => answers as never, raise: async () => [], close: async () => {} };
    const calls = new OriginCalls(odd, time.clock, time.timers);
    expect(
      await calls.read(
        answers.map(() => READ),
        100,
      ),
    ).toEqual([answers[0], null, null, null, null, null, null]);
    expect(calls.tally).toMatchObject({ junk: 5, unknown: 1 });
  });

  test("an open breaker asks nobody, and counts no call", async () => {
    const { origin, calls } = setUp();
    origin.trouble("failing");
    for (let i = 0; i < 20; i++) await calls.read([READ], 100);
    expect([await calls.read([READ], 100), await calls.raise([], 100)]).toEqual([null, null]);
    expect([origin.reads.length, origin.raises.length, calls.tally.reads, calls.tally.raises]).toEqual([20, 0, 20, 0]);
  });

  test("own lag is not the origin's fault: a deadline that fires much too late does not count against it", async () => {
    const { time, origin, calls } = setUp();
    origin.trouble("stalled");
    const reads = Array.from({ length: 40 }, () => calls.read([READ], 100));
    time.pass(400);
    await time.advance(0);
    await Promise.all(reads);
    expect([calls.tally.late, calls.breaker.state]).toEqual([40, "closed"]);
    const slow = Array.from({ length: 40 }, () => calls.read([READ], 100));
    await time.advance(100);
    await Promise.all(slow);
    expect(calls.breaker.state).toBe("open");
  });

  test("an answer that was held up here beyond its deadline is late, one in the last moment is not", async () => {
    for (const [tookMs, answer] of [
      [100, [{ sum: 0, component: 0 }]],
      [101, null],
    ] as const) {
      const { time, origin, calls } = setUp();
      origin.trouble("stalled");
      const read = calls.read([READ], 100);
      time.pass(tookMs);
      origin.heal();
      expect(await read).toEqual(answer);
      expect(calls.tally.late).toBe(answer === null ? 1 : 0);
    }
  });

  test("a deadline that fires 49 ms too late counts against the origin, one that fires 50 ms too late does not", async () => {
    for (const [lateMs, state] of [
      [49, "open"],
      [50, "closed"],
    ] as const) {
      const { time, origin, calls } = setUp();
      origin.trouble("stalled");
      const reads = Array.from({ length: 20 }, () => calls.read([READ], 100));
      time.pass(100 + lateMs);
      await time.advance(0);
      await Promise.all(reads);
      expect(calls.breaker.state).toBe(state);
    }
  });

  test("how long calls took is told by kind, answered or not", async () => {
    const { time, origin, calls } = setUp();
    origin.trouble("stalled");
    const read = calls.read([READ], 100);
    await time.advance(60);
    origin.heal();
    await read;
    await calls.raise([], 100);
    expect(calls.latency.read.read()).toMatchObject({ count: 1, maxMs: 60 });
    expect(calls.latency.raise.read()).toMatchObject({ count: 1, maxMs: 0 });
  });

  test("what a store says of its connections is passed on, and one that says nothing is not asked", () => {
    const { time, origin, calls } = setUp();
    expect([calls.health, calls.listen(() => {})]).toEqual([null, undefined]);
    const health = { isConnected: true, commands: 3, connects: 1, scriptLoads: 0, failures: {}, lastFailure: null };
    const heard: unknown[] = [];
    const telling = {
      read: origin.read.bind(origin),
      raise: origin.raise.bind(origin),
      close: async () => {},
      health: () => health,
      listen: (listener: (event: ConnectionEvent) => void) => {
        listener({ kind: "connected", address: "here" });
        return () => heard.push("ended");
      },
    };
    const told = new OriginCalls(telling, time.clock, time.timers);
    told.listen((event) => heard.push(event.kind))?.();
    expect([told.health, heard]).toEqual([health, ["connected", "ended"]]);
  });

  test("an origin that several share is closed with the last of them", async () => {
    const { time, origin, calls } = setUp();
    const other = new OriginCalls(origin, time.clock, time.timers);
    await calls.close(50);
    expect(origin.closed).toBe(0);
    await other.close(50);
    expect(origin.closed).toBe(1);
  });

  test("closing ends what is under way, and settles though the origin's close does not", async () => {
    const { time, origin } = setUp();
    const hanging = {
      read: origin.read.bind(origin),
      raise: origin.raise.bind(origin),
      close: () => new Promise<void>(() => {}),
    };
    const calls = new OriginCalls(hanging, time.clock, time.timers);
    origin.trouble("stalled");
    const read = calls.read([READ], 300);
    const closing = calls.close(50);
    expect(await read).toBeNull();
    await time.advance(50);
    await closing;
    expect(time.pending).toBe(0);
  });
});
