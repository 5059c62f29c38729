import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { TroubledOrigin } from "../../../../test/support/troubled-stores.ts";
import { WALL_MAX_MS } from "../core/bounds.ts";
import { OriginCalls } from "./origin-calls.ts";
import { OriginIdentity } from "./origin-identity.ts";

function setUp() {
  const time = new ManualTime();
  const random = new SeededRandom(7);
  const origin = () => new TroubledOrigin(time);
  const identity = (of: TroubledOrigin) =>
    new OriginIdentity(new OriginCalls(of, time.clock, time.timers), time.clock, random);
  return { time, origin, identity };
}

describe("origin identity", () => {
  test("all processes of an origin agree, also those that begin at once, and two origins differ", async () => {
    const { origin, identity } = setUp();
    const [one, other] = [origin(), origin()];
    const [a, b] = [identity(one), identity(one)];
    await Promise.all([a.readOnce(), b.readOnce()]);
    const id = await a.readOnce();
    expect(id).toMatch(/^\d{6,16}$/);
    expect([await b.readOnce(), await identity(one).readOnce()]).toEqual([id, id]);
    expect(await identity(other).readOnce()).not.toBe(id);
  });

  test("it outlives an origin that was emptied, and one that is away has none", async () => {
    const { origin, identity } = setUp();
    const one = origin();
    const known = identity(one);
    const id = await known.readOnce();
    await one.lose();
    expect([await known.readOnce(), await identity(one).readOnce()]).toEqual([id, id]);
    one.trouble("failing");
    expect(await known.readOnce()).toBeNull();
    expect(await identity(one).readOnce()).toBeNull();
  });

  test("it lives as long as any count: a region that was stopped for 60 days and renamed is still known by its origin", async () => {
    const { time, origin, identity } = setUp();
    const one = origin();
    const id = await identity(one).readOnce();
    time.pass(60 * 86_400_000);
    expect(await identity(one).readOnce()).toBe(id);
  });

  test("an origin that cannot tell of that cell has none", async () => {
    const { origin, identity } = setUp();
    const unknown = async () => [{ sum: Number.NaN, component: Number.NaN }];
    const unread = origin();
    unread.read = unknown;
    const unraised = origin();
    unraised.raise = unknown;
    expect([await identity(unread).readOnce(), await identity(unraised).readOnce()]).toEqual([null, null]);
  });

  test("it falls with the time at which it is drawn; it is at most 52 bits long, exact everywhere, and never 0", async () => {
    const { origin } = setUp();
    const drawn = async (wallMs: number, word: number) => {
      const time = new ManualTime();
      const clock = { wallMs: () => wallMs, monoMs: time.clock.monoMs };
      return new OriginIdentity(new OriginCalls(origin(), clock, time.timers), clock, {
        uint32: () => word,
      }).readOnce();
    };
    const wordMax = 2 ** 32 - 1;
    expect(await drawn(WALL_MAX_MS, 0)).toBe("1");
    expect(await drawn(WALL_MAX_MS, wordMax)).toBe(String(2 ** 10));
    expect(await drawn(WALL_MAX_MS - 1, 0)).toBe(String(2 ** 10 + 1));
    expect(Number(await drawn(0, wordMax))).toBeLessThan(2 ** 52);
  });

  // Seen in a simulated world: the origin stalled, and the later message replaced an identity that was registered already.
  test("the first process to draw wins, even if the message of a later one arrives after it was used", async () => {
    const { time, origin, identity } = setUp();
    const one = origin();
    const [first, later] = [identity(one), identity(one)];
    const { raise } = one;
    let arrive = () => {};
    // The first reads and draws, a millisecond later the other does, whose message waits.
    const id = await first.readOnce();
    await one.lose();
    time.pass(1);
    one.raise = (raises) =>
      new Promise((resolve, reject) => {
        arrive = () => void raise.call(one, raises).then(resolve, reject);
      });
    const waiting = later.readOnce();
    await time.settle();
    one.raise = raise;
    expect(await first.readOnce()).toBe(id);
    arrive();
    expect([await waiting, await first.readOnce()]).toEqual([id, id]);
  });
});
