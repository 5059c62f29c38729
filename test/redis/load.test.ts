/** How much a region asks of Redis under load, and what its callers see while Redis is frozen. Small by default, whole in the lab. */
import { type Decision, type Duration, Limiter, type LimiterOptions, type LimitRequest } from "sluice";
import { redisOrigin } from "sluice/redis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { byLength, figure, LENGTH } from "../rig/length.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { starvedMs } from "../rig/starvation.ts";
import { storedTotal } from "../rig/stored-cells.ts";
import { ManualTime } from "../support/manual-time.ts";

let server: RedisServer;
let limiter: Limiter;

beforeEach(async () => {
  server = await RedisServer.start();
});
afterEach(async () => {
  await limiter.close();
  await server.stop();
});

async function begin(options: LimiterOptions = {}): Promise<void> {
  limiter = new Limiter({ origin: redisOrigin({ url: server.url }), ...options });
  await poll("connected", () => limiter.stats().origin?.store?.isConnected);
}

interface Load {
  readonly perSecond: number;
  /** Asked about in turn. */
  readonly identifiers: number;
  /** Of these, as many are busy: three of four requests are theirs. */
  readonly busy?: number;
  readonly limit: number;
  readonly duration: Duration;
}

interface Seen {
  requests: number;
  degraded: number;
  readonly errors: unknown[];
  /** The longest that this process itself was held up. */
  pausedMs: number;
  /** How long those waited who had to: a decision without a promise waited for nothing. */
  readonly waitedMs: number[];
}

/** Whose turn it is: all identifiers are asked about in turn, from one call to the next. */
let turn = 0;
/** Requests between two turns of the event loop. */
const AT_ONCE = 100;

/** Asks at a steady rate until `until` holds, whether or not earlier answers have come. */
async function ask({ perSecond, identifiers, busy = 0, limit, duration }: Load, until: () => boolean): Promise<Seen> {
  const seen: Seen = { requests: 0, degraded: 0, errors: [], pausedMs: 0, waitedMs: [] };
  const answered = ({ degraded }: Decision) => {
    if (degraded) seen.degraded++;
  };
  const waiting = new Set<Promise<void>>();
  let lastMs = performance.now();
  let due = 0;
  while (!until()) {
    const nowMs = performance.now();
    // What could not be asked in time is not asked later: a server would not catch up in one go either.
    due = seen.requests + Math.min(AT_ONCE, due - seen.requests + ((nowMs - lastMs) / 1_000) * perSecond);
    seen.pausedMs = Math.max(seen.pausedMs, nowMs - lastMs);
    lastMs = nowMs;
    for (; seen.requests < due; seen.requests++) {
      const isBusy = busy > 0 && turn % 4 !== 0;
      const identifier = `user_${isBusy ? turn % busy : Math.floor(turn / (busy > 0 ? 4 : 1)) % identifiers}`;
      turn++;
      const answer = limiter.decide({ namespace: "api", identifier, limit, duration });
      if (!(answer instanceof Promise)) {
        answered(answer);
        continue;
      }
      const askedMs = performance.now();
      const settled = answer
        .then(answered, (error: unknown) => void seen.errors.push(error))
        .finally(() => {
          seen.waitedMs.push(performance.now() - askedMs);
          waiting.delete(settled);
        });
      waiting.add(settled);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(waiting);
  return seen;
}

/** For so long. */
function lasting(ms: number): () => boolean {
  const endMs = performance.now() + ms;
  return () => performance.now() > endMs;
}

const origin = () => limiter.stats().origin!;

describe("limiter on redis › what it asks for", () => {
  test("a denied identifier that is hammered costs no Redis command at all", async () => {
    await begin();
    const request = { namespace: "api", identifier: "attacker", limit: 5, duration: "1h" } as const;
    for (let i = 0; i < 6; i++) await limiter.limit(request);
    await poll("replayed", () => origin().unreplayed === 0);
    const before = { reads: origin().reads, raised: await storedTotal(server) };
    for (let i = 0; i < 100_000; i++) {
      const decision = limiter.decide(request);
      if (decision instanceof Promise || decision.success) expect.unreachable();
    }
    expect({ reads: origin().reads, raised: await storedTotal(server) }).toEqual(before);
    expect(origin().unreplayed).toBe(0);
  });

  test("commands for each request stay below a half on 1,000 keys, and fall as the load rises", async () => {
    await begin();
    const ratios: number[] = [];
    for (const perSecond of [2_000, 50_000]) {
      const load = { perSecond, identifiers: 1_000, limit: 1_000_000_000, duration: "1h" } as const;
      await ask(load, lasting(700));
      const before = origin().store!.commands;
      const { requests } = await ask(load, lasting(byLength({ short: 500, ci: 2_000, lab: 5_000 })));
      ratios.push((origin().store!.commands - before) / requests);
    }
    figure(`commands per request at 2,000/s and 50,000/s: ${ratios.map((ratio) => ratio.toFixed(4)).join(", ")}`);
    expect(ratios[1]).toBeLessThan(0.5);
    expect(ratios[1]).toBeLessThan(ratios[0]!);
  });

  test("a window's rollover with many active identifiers: reads are at most 1 % of the requests", async () => {
    const identifiers = byLength({ short: 5_000, ci: 20_000, lab: 50_000 });
    // Time by hand, so that a slow machine sees the same traffic as a fast one; the Redis is real.
    const time = new ManualTime();
    const { clock, timers } = time;
    time.pass(50_000);
    // The driver's clock is the real one: on a starved machine its timeout would fail calls that this test's time does not notice.
    await begin({ clock, timers, origin: redisOrigin({ url: server.url, commandTimeoutMs: 30_000 }) });
    let asked = 0;
    const stepMs = 50;
    const turn = async () => {
      const due = asked + (identifiers / 2) * (stepMs / 1_000);
      for (; asked < due; asked++) {
        const request = {
          namespace: "api",
          identifier: `user_${asked % identifiers}`,
          limit: 1_000_000,
          duration: "1m",
        };
        void limiter.decide(request as LimitRequest);
      }
      await time.advance(stepMs);
      await poll("all calls are answered", () => {
        const { reads, raises, latency } = origin();
        return latency.read.count + latency.raise.count === reads + raises;
      });
    };
    while (asked < 2 * identifiers) await turn();
    const before = { reads: origin().reads, asked };
    const window = Math.floor(time.wallMs / 60_000);
    for (let stepped = 0; stepped < 12_000; stepped += stepMs) await turn();
    expect(Math.floor(time.wallMs / 60_000)).toBe(window + 1);
    const [reads, requests] = [origin().reads - before.reads, asked - before.asked];
    figure(`${reads} reads in ${requests} requests over a rollover of ${identifiers} identifiers`);
    expect(requests).toBeGreaterThan(5 * identifiers);
    expect(reads / requests).toBeLessThanOrEqual(0.01);
  }, 120_000);
});

describe("limiter on redis › Redis is frozen", () => {
  const cells = byLength({ short: 3_000, ci: 30_000, lab: 100_000 });
  const frozenMs = byLength({ short: 4_000, ci: 8_000, lab: 30_000 });

  test(`for ${frozenMs / 1_000} s under load with ${cells} unreplayed cells: callers do not notice, and all of it arrives`, async () => {
    await begin();
    const load = { perSecond: 20_000, identifiers: cells, busy: 1_000, limit: 1_000_000, duration: "1m" } as const;
    await ask(load, lasting(1_000));
    await server.freeze();
    const seen = await ask(load, lasting(frozenMs));
    // A machine that is busy with other things asks less: the rest of the cells, so that all of them wait for Redis.
    await ask({ ...load, busy: 0 }, () => origin().unreplayed >= cells);
    const unreplayed = origin().unreplayed;
    const starved = () => starvedMs("thread-self") + starvedMs(server.pid);
    const starvedBeforeMs = starved();
    await server.thaw();
    const thawedMs = performance.now();
    await poll("the breaker is closed", () => origin().breaker === "closed" && origin().store?.isConnected, 20_000);
    const closedMs = performance.now() - thawedMs;
    await poll("all is replayed", () => origin().unreplayed === 0, 60_000);
    const replayedMs = performance.now() - thawedMs;
    const waitedForCpuMs = starved() - starvedBeforeMs;
    const allowed = limiter.stats().decisions.allowed;
    expect(await storedTotal(server)).toBe(allowed);
    seen.waitedMs.sort((a, b) => a - b);
    const longestMs = seen.waitedMs.at(-1) ?? 0;
    // All who did not wait count as 0 ms.
    const rank = Math.ceil(seen.requests * 0.01);
    const p99Ms = seen.waitedMs.at(-rank) ?? 0;
    figure(
      `frozen ${frozenMs} ms: ${seen.requests} requests, ${seen.degraded} degraded, longest wait ${longestMs.toFixed(0)} ms (this process paused ${seen.pausedMs.toFixed(0)} ms), ` +
        `p99 ${p99Ms.toFixed(1)} ms; ${unreplayed} unreplayed; breaker closed after ${closedMs.toFixed(0)} ms, all replayed after ${replayedMs.toFixed(0)} ms (of which ${waitedForCpuMs.toFixed(0)} ms without a processor)`,
    );
    expect(seen.errors).toEqual([]);
    expect(seen.degraded).toBeGreaterThan(0);
    expect(unreplayed).toBeGreaterThanOrEqual(cells);
    // The read deadline, and 50 ms; its timer fires in the first turn after it, which begins at most one pause later.
    expect(longestMs).toBeLessThan(300 + 50 + seen.pausedMs);
    // Who waits does so before the breaker opens, in the first second: more than one of a hundred if there are few seconds.
    if (LENGTH === "lab") expect(p99Ms).toBeLessThan(5);
    // What others have taken of the processors is not Sluice's time.
    expect(closedMs).toBeLessThan(2_000 + waitedForCpuMs);
    expect(replayedMs).toBeLessThan(5_000 + waitedForCpuMs);
  }, 180_000);
});
