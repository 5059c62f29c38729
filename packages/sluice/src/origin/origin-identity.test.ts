import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/manual-time.ts";
import { SeededRandom } from "../../../../test/seeded-random.ts";
import { TroubledOrigin } from "../../../../test/troubled-stores.ts";
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

  test("it is drawn from 52 bits, exact everywhere and never 0", async () => {
    const { time, origin } = setUp();
    const drawn = async (...words: number[]) => {
      const calls = new OriginCalls(origin(), time.clock, time.timers);
      return new OriginIdentity(calls, time.clock, { uint32: () => words.shift()! }).readOnce();
    };
    expect(await drawn(0, 0)).toBe("1");
    expect(await drawn(0, 2 ** 32 - 1)).toBe(String(2 ** 20));
    expect(await drawn(2 ** 32 - 1, 2 ** 32 - 1)).toBe(String(2 ** 52));
  });
});
