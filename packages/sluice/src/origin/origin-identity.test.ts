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
    one.lose();
    expect([await known.readOnce(), await identity(one).readOnce()]).toEqual([id, id]);
    one.trouble("failing");
    expect(await known.readOnce()).toBeNull();
  });
});
