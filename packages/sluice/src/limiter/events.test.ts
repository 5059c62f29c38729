import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import type { Counters } from "../global/counters.ts";
import { MemoryOrigin } from "../origin/memory-origin.ts";
import type { ConnectionEvent, Origin, OriginCount } from "../origin/origin.ts";
import type { LimiterEvent } from "./events.ts";
import { Limiter } from "./limiter.ts";
import type { LimiterOptions } from "./options.ts";

/** An origin in memory that can be away, forget, or answer nonsense; and a limiter on it whose events are kept. */
function world(options: LimiterOptions = {}) {
  const time = new ManualTime();
  const { clock, timers } = time;
  const state = { isAway: false, isJunk: false, memory: new MemoryOrigin(clock) };
  const call = async (ask: () => Promise<readonly OriginCount[]>) => {
    if (state.isAway) throw new Error("away");
    const answers = await ask();
    return state.isJunk ? answers.map(() => ({ sum: -1, component: 7 })) : answers;
  };
  const origin: Origin = {
    raise: (raises) => call(() => state.memory.raise(raises)),
    read: (reads) => call(() => state.memory.read(reads)),
    close: async () => {},
  };
  const events: LimiterEvent[] = [];
  const limiter = new Limiter({
    origin,
    clock,
    timers,
    closeTimeoutMs: 100,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const ask = (identifier: string) => limiter.limit({ namespace: "api", identifier, limit: 10, duration: "1h" });
  const of = (kind: LimiterEvent["kind"]) => events.filter((event) => event.kind === kind);
  /** Lets a second go by, ten flushes at a time. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) await time.advance(50);
  };
  const close = async () => {
    const closing = limiter.close();
    await pass(500);
    return closing;
  };
  return { time, state, limiter, events, ask, of, pass, close };
}

describe("events", () => {
  test("an outage of the origin is told from its beginning to its end: failures, breaker, degraded decisions", async () => {
    const { state, ask, of, pass, close } = world();
    await ask("user_0");
    await pass(1_000);
    state.isAway = true;
    for (let i = 0; i < 60; i++) {
      void ask(`user_${i}`);
      await pass(50);
    }
    state.isAway = false;
    await pass(4_000);
    expect(of("breaker").map((event) => "state" in event && event.state)).toEqual([
      "open",
      "probing",
      "probing",
      "probing",
      "closed",
    ]);
    expect(of("failures")[0]).toMatchObject({ layer: "origin", failures: { failed: expect.any(Number) } });
    const [began, ended] = of("degraded");
    expect(began).toMatchObject({ state: "began" });
    expect(ended).toMatchObject({ state: "ended", decisions: 59 });
    await close();
  });

  test("the last word of a long outage is that the breaker is closed, whatever was left out before", async () => {
    const { state, ask, of, pass, close } = world();
    await ask("user_0");
    state.isAway = true;
    // Longer than ten seconds, with a probe in each; it ends in the middle of a span.
    for (let i = 0; i < 180; i++) {
      void ask(`user_${i}`);
      await pass(100);
    }
    state.isAway = false;
    await pass(30_000);
    const told = of("breaker");
    expect(told.at(-1)).toMatchObject({ state: "closed" });
    expect(told.map(({ atMs }) => atMs)).toEqual(told.map(({ atMs }) => atMs).sort((a, b) => a - b));
    await close();
  });

  test("degraded decisions have not ended because nobody asks", async () => {
    const { state, ask, of, pass, close } = world();
    await ask("user_0");
    state.isAway = true;
    for (let i = 0; i < 60; i++) {
      void ask(`user_${i}`);
      await pass(50);
    }
    await pass(20_000);
    expect(of("degraded")).toMatchObject([{ state: "began" }]);
    state.isAway = false;
    await pass(4_000);
    expect(of("degraded")).toMatchObject([{ state: "began" }, { state: "ended", decisions: 59 }]);
    await close();
  });

  test("a global store that is back is told, after both ways went through", async () => {
    const state = { cannotPublish: false, cannotRead: false };
    const counters: Counters = {
      publish: async () => {
        if (state.cannotPublish) throw new Error("read only");
      },
      read: async () => {
        if (state.cannotRead) throw new Error("away");
        return { cells: [], cursor: "0", regionsLive: 1 };
      },
      cleanUp: async () => 0,
      denials: { write: async () => {}, active: async () => [] },
      close: async () => {},
    };
    const { events, of, pass, close } = world({ region: "eu", global: counters });
    await pass(3_000);
    expect(of("recovered")).toEqual([]);
    state.cannotPublish = true;
    state.cannotRead = true;
    await pass(5_000);
    state.cannotRead = false;
    await pass(5_000);
    expect(of("recovered")).toEqual([]);
    state.cannotPublish = false;
    await pass(4_000);
    expect(of("recovered")).toMatchObject([{ layer: "global" }]);
    const [event] = of("recovered");
    // Looked at once a second, and both rounds come once a second.
    expect(event?.kind === "recovered" && event.forMs).toBeGreaterThanOrEqual(9_000);
    // All that failed was told before it.
    const told = events.filter(({ kind }) => kind === "failures" || kind === "recovered").map(({ kind }) => kind);
    expect(told.at(-1)).toBe("recovered");
    expect(told.filter((kind) => kind === "failures").length).toBeGreaterThan(1);
    await pass(12_000);
    expect(events.filter(({ kind }) => kind === "failures" || kind === "recovered")).toHaveLength(told.length);
    await close();
  });

  test("an origin that has lost its cells is told, with how many keys are replayed again", async () => {
    const { time, state, ask, of, pass, close } = world();
    for (let i = 0; i < 7; i++) await ask(`user_${i}`);
    await pass(200);
    expect(of("lost")).toEqual([]);
    state.memory = new MemoryOrigin(time.clock);
    await pass(200);
    expect(of("lost")).toEqual([{ kind: "lost", layer: "origin", keys: 7, atMs: expect.any(Number), omitted: 0 }]);
    await close();
  });

  test("junk is told, and told again only with what was added in ten seconds", async () => {
    const { state, ask, of, pass, close } = world();
    await ask("user_0");
    state.isJunk = true;
    await pass(9_000);
    expect(of("junk")).toHaveLength(1);
    await pass(3_000);
    expect(of("junk")).toHaveLength(2);
    await close();
    const counts = of("junk").map((event) => (event.kind === "junk" ? event.count : 0));
    // A flush has a cell and the heartbeat, and twenty of them make a second.
    expect(counts[1]).toBeGreaterThan(300);
    expect(counts[0]).toBeLessThanOrEqual(42);
  });

  test("requests that find the table full are told", async () => {
    const { limiter, ask, of, pass, close } = world({ cellsMax: 1 });
    await ask("user_0");
    for (let i = 1; i < 9; i++)
      void limiter.decide({ namespace: "api", identifier: `user_${i}`, limit: 1, duration: "1h" });
    await pass(1_100);
    expect(of("full")).toMatchObject([{ decisions: limiter.stats().decisions.unrecorded }]);
    await close();
  });

  test("a clock that is set back is told", async () => {
    const { time, limiter, ask, of, pass, close } = world({ origin: undefined });
    await ask("user_0");
    time.jumpWall(-60_000);
    await ask("user_0");
    await pass(50);
    expect(of("clock")).toMatchObject([{ backMs: 60_000 }]);
    expect(limiter.stats().clock.followed).toBe(1);
    await close();
  });

  test("of one subject five events are told in ten seconds, and then the latest, with how many were left out", async () => {
    const { time, limiter, ask, of, pass, close } = world({ origin: undefined });
    await ask("user_0");
    for (let i = 1; i < 30; i++) {
      time.jumpWall(-60_000 - i);
      await ask("user_0");
    }
    await pass(9_000);
    expect(of("clock").map((event) => event.kind === "clock" && event.backMs)).toEqual([
      60_001, 60_002, 60_003, 60_004, 60_005,
    ]);
    await pass(2_000);
    expect(of("clock")).toHaveLength(6);
    expect(of("clock")[5]).toMatchObject({ backMs: 60_029, omitted: 23 });
    expect(limiter.stats().clock.followed).toBe(29);
    await close();
  });

  test("the listener is not called in the middle of a decision, and may close the limiter", async () => {
    let isDeciding = false;
    const seen: boolean[] = [];
    let closing: Promise<unknown> | undefined;
    const { time, limiter, pass } = world({
      origin: undefined,
      onEvent: () => {
        seen.push(isDeciding);
        closing = limiter.close();
      },
    });
    const request = { namespace: "api", identifier: "user_0", limit: 10, duration: "1h" } as const;
    void limiter.decide(request);
    time.jumpWall(-60_000);
    isDeciding = true;
    void limiter.decide(request);
    isDeciding = false;
    await pass(50);
    expect(await closing).toEqual({ lost: 0 });
    expect(seen).toEqual([false, false]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("mine");
      },
    ],
    ["rejects", () => Promise.reject(new Error("mine"))],
  ])("a listener that %s disturbs nothing", async (_, onEvent) => {
    const { state, ask, limiter, pass, close } = world({ onEvent });
    state.isAway = true;
    for (let i = 0; i < 60; i++) {
      void ask(`user_${i}`);
      await pass(50);
    }
    expect(limiter.stats().origin?.breakerOpened).toBeGreaterThan(0);
    state.isAway = false;
    await pass(3_000);
    expect(await close()).toEqual({ lost: 0 });
  });

  test("the end is told with what was lost, and nothing is left after it", async () => {
    const { time, state, events, ask, of, pass, close } = world();
    state.isAway = true;
    await ask("user_0");
    expect(await close()).toEqual({ lost: 1 });
    expect(events.at(-1)).toMatchObject({ kind: "closed", lost: 1 });
    expect(of("failures")).not.toEqual([]);
    const told = events.length;
    expect(time.pending).toBe(0);
    await pass(20_000);
    expect(events).toHaveLength(told);
  });

  test("connections are told, and an origin that outlives the limiter is no longer listened to", async () => {
    const listeners = new Set<(event: ConnectionEvent) => void>();
    const memory = new MemoryOrigin(new ManualTime().clock);
    const origin: Origin = {
      raise: (raises) => memory.raise(raises),
      read: (reads) => memory.read(reads),
      close: async () => {},
      listen(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const { of, pass, close } = world({ origin });
    for (const listener of listeners) {
      listener({ kind: "connected", address: "a:1" });
      listener({ kind: "disconnected", address: "a:1", failure: "timeout", message: "silent" });
    }
    await pass(50);
    expect(of("connection")).toMatchObject([
      { layer: "origin", state: "up", address: "a:1" },
      { layer: "origin", state: "down", address: "a:1", failure: "timeout", message: "silent" },
    ]);
    await close();
    expect(listeners.size).toBe(0);
  });

  test("an outage of the origin is one event down, and up at once; what failed in between is told before that", async () => {
    // Seen: an outage of four seconds gave five events "down" within 300 ms, and "up" followed six seconds after the connection was made.
    const listeners = new Set<(event: ConnectionEvent) => void>();
    const memory = new MemoryOrigin(new ManualTime().clock);
    let failed = 0;
    const origin: Origin = {
      raise: (raises) => memory.raise(raises),
      read: (reads) => memory.read(reads),
      close: async () => {},
      health: () => ({
        isConnected: true,
        commands: 0,
        connects: 1,
        scriptLoads: 0,
        failures: { connection: failed },
        lastFailure: { kind: "connection", message: "refused" },
      }),
      listen(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const { events, of, pass } = world({ origin });
    const report = (event: ConnectionEvent) => {
      if (event.kind === "disconnected") failed++;
      for (const listener of listeners) listener(event);
    };
    const nodes = ["a:1", "b:1", "c:1", "d:1", "e:1", "f:1"];
    for (const address of nodes) report({ kind: "connected", address });
    for (let attempt = 0; attempt < 30; attempt++) {
      for (const address of nodes) report({ kind: "disconnected", address, failure: "connection", message: "refused" });
      await pass(100);
    }
    for (const address of nodes) report({ kind: "connected", address });
    await pass(1);
    const states = nodes.map((address) =>
      of("connection").filter((event) => "address" in event && event.address === address),
    );
    for (const told of states) {
      expect(told.map((event) => "state" in event && event.state)).toEqual(["up", "down", "up"]);
      expect(told.every(({ omitted }) => omitted === 0)).toBe(true);
    }
    const toldOf = of("failures").map((event) => ("failures" in event ? (event.failures["connection"] ?? 0) : 0));
    expect(toldOf.reduce((sum, count) => sum + count, 0)).toBe(180);
    const lastFailures = events.findLastIndex(({ kind }) => kind === "failures");
    expect(events.findLastIndex(({ kind }) => kind === "connection") - lastFailures).toBe(6);
    const told = events.length;
    await pass(20_000);
    expect(events).toHaveLength(told);
  });

  test.each([
    ["denials", 12_000],
    ["both", 12_000],
  ] as const)(
    "in mode %s a global store that recovers is reported once its denials were read again",
    async (mode, withinMs) => {
      // Seen: in mode denials `recovered` never came, because it waited for a publish and an import that this mode does not do.
      let isAway = false;
      const guarded = <T>(answer: T) => {
        return async () => {
          if (isAway) throw new Error("away");
          return answer;
        };
      };
      const global: Counters = {
        publish: guarded(undefined),
        read: guarded({ cells: [], cursor: "0", regionsLive: 1 }),
        cleanUp: guarded(0),
        denials: { write: guarded(undefined), active: guarded([]) },
        close: async () => {},
      };
      const { of, pass, close } = world({ region: "eu", globalMode: mode, global, origin: undefined });
      await pass(5_000);
      isAway = true;
      await pass(30_000);
      expect([of("failures").length > 0, of("recovered")]).toEqual([true, []]);
      isAway = false;
      await pass(withinMs);
      expect(of("recovered")).toHaveLength(1);
      await pass(30_000);
      expect(of("recovered")).toHaveLength(1);
      await close();
    },
  );

  test("the denial channel's breaker, and failures of the global store, are told", async () => {
    const fails = async () => {
      throw new Error("away");
    };
    const global: Counters = {
      publish: fails,
      read: fails,
      cleanUp: fails,
      close: async () => {},
      denials: { write: fails, active: fails },
    };
    const { limiter, of, pass, close } = world({ region: "a", globalMode: "both", global, origin: undefined });
    // Twenty writes of a hundred rows, all of which fail, open a breaker.
    for (let i = 0; i < 2_100; i++) {
      for (let j = 0; j < 2; j++) {
        void limiter.decide({ namespace: "api", identifier: `user_${i}`, limit: 1, duration: "1h" });
      }
    }
    await pass(15_000);
    expect(of("breaker")[0]).toMatchObject({ layer: "denials", state: "open" });
    expect(of("failures")[0]).toMatchObject({ layer: "global", failures: { failed: expect.any(Number) } });
    await close();
    expect(of("closed")).toHaveLength(1);
  });
});
