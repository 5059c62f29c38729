import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/manual-time.ts";
import { TroubledOrigin } from "../../../../test/troubled-stores.ts";
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

  test("one junk answer among good ones is null, and the others stand", async () => {
    const { time } = setUp();
    const answers = [
      { sum: 1, component: 1 },
      { sum: 1, component: 2 },
      null,
      { sum: -1, component: 0 },
      { sum: 2 ** 53, component: 0 },
      { sum: Number.NaN, component: Number.NaN },
    ];
    const odd = { read: async () => answers as never, raise: async () => [], close: async () => {} };
    const calls = new OriginCalls(odd, time.clock, time.timers);
    expect(
      await calls.read(
        answers.map(() => READ),
        100,
      ),
    ).toEqual([answers[0], null, null, null, null, null]);
    expect(calls.tally).toMatchObject({ junk: 4, unknown: 1 });
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
