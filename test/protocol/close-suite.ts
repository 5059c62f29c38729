/**
 * A suite that runs on every store. Closing, eviction and clocks that go back: what must not be lost, counted twice, or hidden.
 */
import { describe, expect, test } from "vitest";
import { FLUSH_MS, keyOf, keyText, MINUTE_MS, Processes, request } from "../support/processes.ts";

export function closeSuite({
  store = "memory",
  makeProcesses = () => new Processes(),
}: {
  readonly store?: string;
  readonly makeProcesses?: () => Processes;
} = {}): void {
  describe(`convergence, ${store}: close`, () => {
    test("replays everything dirty, and then says that nothing was lost", async () => {
      const world = makeProcesses();
      const { ask, limiter } = world.start({ flushMs: 1_000 });
      for (let i = 0; i < 50; i++) await ask({ identifier: `id_${i % 10}`, limit: 100 });
      expect(world.origin.raises).toEqual([]);
      expect(await limiter.close()).toEqual({ lost: 0 });
      for (let i = 0; i < 10; i++) expect(await world.origin.sum(keyText(`id_${i}`), world.sequence())).toBe(5);
      expect(world.origin.closed).toBe(1);
    });

    test("more than one flush may carry is replayed all the same", async () => {
      const world = makeProcesses();
      const { ask, limiter } = world.start({ commandsPerSecond: 20 });
      for (let i = 0; i < 30; i++) await ask({ identifier: `id_${i}` });
      const closing = limiter.close();
      await world.time.advance(5_000);
      expect(await closing).toEqual({ lost: 0 });
    });

    test("waits for an origin that comes back in time", async () => {
      const world = makeProcesses();
      const { ask, limiter } = world.start();
      await ask({ cost: 4 });
      world.origin.trouble("failing");
      const closing = limiter.close();
      await world.time.advance(2_000);
      world.origin.heal();
      await world.time.advance(2_000);
      expect(await closing).toEqual({ lost: 0 });
      expect(await world.origin.sum(keyText(), world.sequence())).toBe(4);
    });

    test("reports what could not be replayed while the origin was away", async () => {
      const world = makeProcesses();
      const { ask, limiter } = world.start();
      await ask({ cost: 4 });
      await world.time.advance(FLUSH_MS);
      world.origin.trouble("failing");
      await ask({ cost: 2 });
      await ask({ identifier: "b" });
      const closing = limiter.close();
      await world.time.advance(6_000);
      expect(await closing).toEqual({ lost: 3 });
    });

    test("settles within its timeout though the origin stalls", async () => {
      const world = makeProcesses();
      const { ask, limiter } = world.start({ closeTimeoutMs: 2_000 });
      await ask();
      world.origin.trouble("stalled");
      const closing = limiter.close();
      await world.time.advance(4_000);
      expect(await closing).toEqual({ lost: 1 });
    });

    test("settles though the origin's own close never does, or throws", async () => {
      for (const close of [
        () => new Promise<void>(() => {}),
        () => {
          throw new Error("close");
        },
      ]) {
        const world = makeProcesses();
        const { origin } = world;
        const hanging = { raise: origin.raise.bind(origin), read: origin.read.bind(origin), close };
        const { ask, limiter } = world.start({ origin: hanging });
        await ask();
        let report: unknown;
        void limiter.close().then(
          (lost) => {
            report = lost;
          },
          (error: unknown) => {
            report = error;
          },
        );
        await world.time.advance(30_000);
        expect(report).toEqual({ lost: 0 });
      }
    });

    test("a request that waits for a read when close is called is replayed, refused, or reported", async () => {
      // Seen: cold request, read under way, close() finds nothing dirty and reports 0; the read is answered, the request is
      // allowed and counted in a table that nobody replays any more.
      const world = makeProcesses();
      const { limiter } = world.start();
      world.origin.trouble("stalled", "reads");
      const asked = limiter.limit(request({ cost: 3 })).then(
        ({ success }) => (success ? 3 : 0),
        () => 0,
      );
      await world.time.settle();
      const closing = limiter.close();
      await world.time.advance(20);
      world.origin.heal();
      await world.time.advance(10_000);
      const accepted = await asked;
      const { lost } = await closing;
      expect((await world.origin.sum(keyText(), world.sequence())) + lost).toBe(accepted);
    });

    test("does not spin on an origin that answers and does not keep what it is told", async () => {
      const world = makeProcesses();
      let raises = 0;
      const sieve = {
        raise: async (list: readonly unknown[]) => {
          if (++raises > 500) await new Promise<never>(() => {});
          return list.map(() => ({ sum: 0, component: 0 }));
        },
        read: async (list: readonly unknown[]) => list.map(() => ({ sum: 0, component: 0 })),
        close: async () => {},
      };
      const { ask, limiter } = world.start({ origin: sieve });
      await ask();
      const closing = limiter.close();
      await world.time.advance(30_000);
      expect(await closing).toEqual({ lost: 1 });
      expect(raises).toBeLessThan(200);
    });

    test.each(["none", "failing", "stalled"] as const)(
      "lets go of both stores and leaves no timer behind, whatever was under way: %s",
      async (trouble) => {
        const world = makeProcesses();
        const { ask, limiter } = world.startRegion("eu", { origin: world.origin, globalMode: "both" });
        await ask({ cost: 10 });
        await ask();
        await world.time.advance(MINUTE_MS);
        world.origin.trouble(trouble);
        world.counters.trouble(trouble);
        void ask({ identifier: "b", cost: 10 }).catch(() => {});
        await world.time.advance(10_050);
        await ask({ identifier: "b" }).catch(() => {});
        let pending = -1;
        void limiter.close().then(() => {
          pending = world.time.pending;
        });
        await world.time.advance(30_000);
        expect([pending, world.origin.closed, world.counters.closed]).toEqual([0, 1, 1]);
      },
    );

    test("publishes what is left to tell the other regions", async () => {
      const world = makeProcesses();
      const { ask, limiter } = world.startRegion("eu", { floor: 0 });
      await ask({ cost: 4 });
      await limiter.close();
      expect(world.counters.rowsOf("eu")).toMatchObject([{ count: 4 }]);
      expect(world.counters.closed).toBe(1);
    });

    test("closing again gives the same report, and later requests are refused", async () => {
      const world = makeProcesses();
      const { limiter, ask } = world.start();
      expect(limiter.close()).toBe(limiter.close());
      await expect(ask()).rejects.toMatchObject({ code: "RL_CLOSED" });
    });
  });

  describe(`convergence, ${store}: a slot that is given up`, () => {
    test("evicted and seen again, a key counts under a new writer id: nothing is hidden by max", async () => {
      const world = makeProcesses();
      const { ask, limiter } = world.start({ cellsMax: 1 });
      await ask({ cost: 3 });
      await world.time.advance(FLUSH_MS);
      await ask({ identifier: "b" });
      await world.time.advance(FLUSH_MS);
      expect(await ask({ cost: 2 })).toMatchObject({ success: true, current: 5, degraded: false });
      await world.time.advance(FLUSH_MS);
      expect(limiter.stats().cells.evicted).toBe(2);
      expect(await world.origin.sum(keyText(), world.sequence())).toBe(5);
      const writers = new Set(
        world.origin.cellsRaised().flatMap(({ key, writer }) => (key === keyText() ? [writer] : [])),
      );
      expect(writers.size).toBe(2);
    });

    test("evicted and seen again while the origin is away, it continues under the new id", async () => {
      const world = makeProcesses();
      const { ask } = world.start({ cellsMax: 1 });
      await ask({ cost: 3 });
      await world.time.advance(FLUSH_MS);
      await ask({ identifier: "b" });
      await world.time.advance(FLUSH_MS);
      world.origin.trouble("failing");
      expect(await ask({ cost: 2 })).toMatchObject({ success: true, current: 2, degraded: true });
      world.origin.heal();
      await world.time.advance(2_000);
      expect(await world.origin.sum(keyText(), world.sequence())).toBe(5);
    });

    test("a cell with unreplayed cost is not evicted", async () => {
      const world = makeProcesses();
      const { ask, limiter } = world.start({ cellsMax: 1, flushMs: 1_000 });
      await ask();
      expect(await ask({ identifier: "b" })).toMatchObject({ success: true, reason: "full", degraded: true });
      expect(limiter.inspect(request()).current.own).toBe(1);
    });

    test("evicted while its read is under way: what it had counted itself is among the others then", async () => {
      // Seen: K (9 of 10, replayed) is read; X takes its slot and is replayed; the answer claims a new slot for K, and
      // subtracts the component of the id that K counted under before: 9 are missing, and the cell is fresh.
      const world = makeProcesses();
      const k = world.start({ cellsMax: 1 });
      await world.time.advance(MINUTE_MS / 4);
      await k.ask({ cost: 9 });
      await world.time.advance(10_000);
      world.origin.trouble("stalled", "reads");
      const asked = k.ask({ cost: 2 });
      await world.time.settle();
      world.origin.trouble("none", "reads");
      await k.ask({ identifier: "x" });
      await world.time.advance(FLUSH_MS * 2);
      world.origin.heal();
      expect(await asked).toMatchObject({ success: false });
      expect(await k.ask({ cost: 2 })).toMatchObject({ success: false });
    });
  });

  describe(`convergence, ${store}: a read that outlasts its window`, () => {
    test("says nothing of the next one: a cold key is read again", async () => {
      const world = makeProcesses();
      const { ask } = world.start();
      await world.time.advance(MINUTE_MS - 100);
      await world.origin.accept(keyText(), world.sequence(), 10);
      world.origin.trouble("stalled", "reads");
      const asked = ask({ limit: 8 });
      await world.time.advance(200);
      world.origin.heal();
      await world.time.advance(500);
      expect(await asked).toMatchObject({ success: false, reason: "limit" });
    });
  });

  describe(`convergence, ${store}: a clock that is set back`, () => {
    test("a cell is read as the origin has it, though the slot was of a later window", async () => {
      const world = makeProcesses();
      const { ask } = world.start();
      await world.origin.accept(keyText(), world.sequence(), 10);
      world.time.jumpWall(10 * MINUTE_MS);
      await ask();
      await world.time.advance(FLUSH_MS);
      world.time.jumpWall(-10 * MINUTE_MS);
      expect(await ask()).toMatchObject({ success: false, reason: "limit" });
    });

    test("no writer id counts a cell twice from zero, however far the clock jumped", async () => {
      for (const jumpMs of [2, 10, 1_000].map((windows) => windows * MINUTE_MS)) {
        for (const between of ["nothing", "peek", "ask", "sweep", "import"]) {
          const world = makeProcesses();
          const { ask } = world.start({ region: "eu", global: world.counters });
          await ask({ cost: 4 });
          await world.time.advance(FLUSH_MS * 2);
          world.time.jumpWall(jumpMs);
          if (between === "peek") await ask({ cost: 0 });
          if (between === "ask") await ask();
          const row = {
            key: keyOf(),
            sequence: world.sequence(),
            count: 5,
            expiresAtMs: world.time.wallMs + MINUTE_MS,
          };
          if (between === "import") await world.counters.store.publish("us", [row]);
          if (between === "sweep" || between === "import") await world.time.advance(2_500);
          world.time.jumpWall(-jumpMs);
          await ask({ cost: 3, limit: 100 });
          await world.time.advance(1_000);
          const sum = await world.origin.sum(keyText(), world.sequence());
          expect([jumpMs, between, sum]).toEqual([jumpMs, between, 7]);
        }
      }
    });
  });
}
