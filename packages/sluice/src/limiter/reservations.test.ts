import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { MemoryOrigin } from "../origin/memory-origin.ts";
import type { Origin } from "../origin/origin.ts";
import { Limiter } from "./limiter.ts";
import type { LimiterOptions } from "./options.ts";
import type { LimitRequest } from "./request.ts";

const tokens = { namespace: "tokens", identifier: "user_1", limit: 10, duration: "1h" } as const;
const calls = { ...tokens, namespace: "calls", limit: 2 } as const;

/** Processes of one region, on one clock. */
class Region {
  readonly time = new ManualTime();
  readonly origin: Origin;
  #seed = 0;

  constructor(origin?: (time: ManualTime) => Origin) {
    this.origin = origin?.(this.time) ?? new MemoryOrigin(this.time.clock);
  }

  start(options: LimiterOptions = {}): Limiter {
    const { clock, timers } = this.time;
    return new Limiter({ origin: this.origin, clock, timers, random: new SeededRandom(++this.#seed), ...options });
  }

  /** Waits for an answer that may take some turns and flushes. */
  async of<T>(answer: Promise<T>): Promise<T> {
    const outcome = answer.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await this.time.advance(100);
    const settled = await outcome;
    if ("error" in settled) throw settled.error;
    return settled.value;
  }

  ask(limiter: Limiter, request: LimitRequest) {
    return this.of(limiter.limit(request));
  }
}

/** With an origin that all share, and alone. */
const places: readonly (readonly [string, (region: Region) => Limiter])[] = [
  ["at the origin", (region) => region.start()],
  ["in memory", (region) => region.start({ origin: undefined })],
];

describe.each(places)("a reservation %s", (place, start) => {
  const isShared = place === "at the origin";

  test("is held beside the counts until it is settled, and then the truth is counted", async () => {
    const region = new Region();
    const limiter = start(region);
    const held = await region.of(limiter.reserve({ ...tokens, cost: 6 }));
    expect(held).toMatchObject({ success: true, reason: "allowed", remaining: 4, degraded: false });
    expect(await region.ask(limiter, { ...tokens, cost: 5 })).toMatchObject({ success: false, reason: "reserved" });
    expect(await region.ask(limiter, { ...tokens, cost: 3 })).toMatchObject({ success: true, remaining: 1 });
    const settled = await region.of(held.settle(7));
    expect(settled).toEqual({ counted: 7, late: false, repeated: false, pending: false, degraded: false });
    expect(limiter.inspect(tokens)).toMatchObject({ effective: 10, reserved: { cost: 0 }, remaining: 0 });
    expect(await region.ask(limiter, tokens)).toMatchObject({ success: false, reason: "limit" });
  });

  test("that is released counts nothing", async () => {
    const region = new Region();
    const limiter = start(region);
    const held = await region.of(limiter.reserve({ ...tokens, cost: 10 }));
    expect(await region.ask(limiter, tokens)).toMatchObject({ reason: "reserved" });
    await region.of(held.release());
    expect(await region.ask(limiter, { ...tokens, cost: 10 })).toMatchObject({ success: true });
  });

  test("above the limit is refused: for the counts, for the holds, or because the cost never fits", async () => {
    const region = new Region();
    const limiter = start(region);
    const reserve = (cost: number) => region.of(limiter.reserve({ ...tokens, cost }));
    expect(await reserve(11)).toMatchObject({ success: false, reason: "cost", id: "", expiresAt: 0 });
    await reserve(8);
    expect(await reserve(3)).toMatchObject({ success: false, reason: "reserved" });
    await region.ask(limiter, { ...tokens, cost: 2 });
    expect(await reserve(9)).toMatchObject({ success: false, reason: "limit" });
    expect(limiter.stats().reservations).toMatchObject({ reserved: 1, refused: 3, open: 1, isAtOrigin: isShared });
  });

  test("of several limits is all or nothing", async () => {
    const region = new Region();
    const limiter = start(region);
    const both = (cost: number) => region.of(limiter.reserve([calls, { ...tokens, cost }]));
    const first = await both(4);
    expect(first).toMatchObject({ success: true, decisions: [{ reason: "allowed" }, { reason: "allowed" }] });
    const refused = await both(7);
    expect(refused).toMatchObject({
      success: false,
      reason: "reserved",
      decisions: [{ reason: "batch" }, { reason: "reserved" }],
    });
    expect(await both(6)).toMatchObject({ success: true });
    expect(await region.of(first.settle([1, 5]))).toMatchObject({ counted: [1, 5] });
    expect(limiter.inspect(calls)).toMatchObject({ effective: 1, reserved: { cost: 1 } });
    expect(limiter.inspect(tokens)).toMatchObject({ effective: 5, reserved: { cost: 6 } });
  });

  test("that nobody settles is over at its deadline, and can still be settled late", async () => {
    const region = new Region();
    const limiter = start(region);
    const held = await region.of(limiter.reserve({ ...tokens, cost: 10 }, { ttl: "10s" }));
    expect(held.expiresAt).toBeGreaterThan(region.time.wallMs + 9_000);
    await region.time.advance(11_000);
    expect(await region.ask(limiter, { ...tokens, cost: 4 })).toMatchObject({ success: true });
    expect(await region.of(held.settle(3))).toMatchObject({ counted: 3, late: true });
    expect(limiter.inspect(tokens).effective).toBe(7);
  });

  test("is enlarged by extend, all or nothing, and renewed", async () => {
    const region = new Region();
    const limiter = start(region);
    const held = await region.of(limiter.reserve({ ...tokens, cost: 4 }, { ttl: "10s" }));
    expect(await region.of(held.extend(3))).toMatchObject({ success: true });
    expect(await region.of(held.extend(4))).toMatchObject({ success: false, decisions: [{ reason: "limit" }] });
    expect(limiter.inspect(tokens).reserved.cost).toBe(7);
    await region.time.advance(5_000);
    const expiresAt = await region.of(held.renew());
    expect(expiresAt).toBeGreaterThan(region.time.wallMs + 9_000);
    expect(held.expiresAt).toBe(expiresAt);
    expect(await region.of(held.settle())).toMatchObject({ counted: 7 });
  });

  test("is renewed while its process lives, and ends after it", async () => {
    const region = new Region();
    const limiter = start(region);
    const held = await region.of(limiter.reserve({ ...tokens, cost: 10 }, { ttl: "3s", autoRenew: true }));
    for (let i = 0; i < 10; i++) await region.time.advance(1_000);
    expect(await region.ask(limiter, tokens)).toMatchObject({ reason: "reserved" });
    expect(held.signal.aborted).toBe(false);
    await region.of(held.release());
    expect(await region.ask(limiter, { ...tokens, cost: 10 })).toMatchObject({ success: true });
  });

  test("is released by disposal, unless it was settled", async () => {
    const region = new Region();
    const limiter = start(region);
    const held = await region.of(limiter.reserve({ ...tokens, cost: 4 }));
    await region.of(held[Symbol.asyncDispose]());
    const settled = await region.of(limiter.reserve({ ...tokens, cost: 4 }));
    await region.of(settled.settle(2));
    await region.of(settled[Symbol.asyncDispose]());
    const denied = await region.of(limiter.reserve({ ...tokens, cost: 11 }));
    await region.of(denied[Symbol.asyncDispose]());
    expect(limiter.inspect(tokens)).toMatchObject({ effective: 2, reserved: { cost: 0 } });
  });

  test("settled again with the same amount counts once; with another, or after a release, it is refused", async () => {
    const region = new Region();
    const limiter = start(region);
    const held = await region.of(limiter.reserve({ ...tokens, cost: 4 }));
    await region.of(held.settle(3));
    expect(await region.of(held.settle(3))).toMatchObject({ counted: 3, repeated: true });
    await expect(region.of(held.settle(4))).rejects.toMatchObject({ code: "RL_RESERVATION_ENDED" });
    await expect(region.of(held.release())).rejects.toMatchObject({ code: "RL_RESERVATION_ENDED" });
    await expect(region.of(held.renew())).rejects.toMatchObject({ code: "RL_RESERVATION_ENDED" });
    await expect(region.of(held.extend(1))).rejects.toMatchObject({ code: "RL_RESERVATION_ENDED" });
    const other = await region.of(limiter.reserve({ ...tokens, cost: 4 }));
    await region.of(other.release());
    await expect(region.of(other.settle(1))).rejects.toMatchObject({ code: "RL_RESERVATION_ENDED" });
    expect(limiter.inspect(tokens)).toMatchObject({ effective: 3, reserved: { cost: 0 } });
  });

  test.each([
    ["a negative amount", (held: { settle(n: number): Promise<unknown> }) => held.settle(-1), "RL_COST_INVALID"],
    [
      "an amount that is too large",
      (held: { settle(n: number): Promise<unknown> }) => held.settle(2 ** 40 + 1),
      "RL_COST_INVALID",
    ],
    ["a fraction", (held: { settle(n: number): Promise<unknown> }) => held.settle(0.5), "RL_COST_INVALID"],
    [
      "too many amounts",
      (held: { settle(n: number): Promise<unknown> }) => held.settle([1, 2] as never),
      "RL_AMOUNTS_INVALID",
    ],
  ])("settled with %s is refused, and stays open", async (_, settle, code) => {
    const region = new Region();
    const limiter = start(region);
    const held = await region.of(limiter.reserve({ ...tokens, cost: 4 }));
    await expect(region.of(settle(held))).rejects.toMatchObject({ code });
    expect(limiter.inspect(tokens)).toMatchObject({ effective: 0, reserved: { cost: 4 } });
    expect(await region.of(held.settle(1))).toMatchObject({ counted: 1 });
  });

  test("beyond the maximum of its key is denied with the reason holds", async () => {
    const region = new Region();
    const limiter = region.start({ holdsMax: 2, ...(isShared ? {} : { origin: undefined }) });
    for (let i = 0; i < 2; i++) await region.of(limiter.reserve(tokens));
    expect(await region.of(limiter.reserve(tokens))).toMatchObject({ success: false, reason: "holds" });
  });

  test("makes batches that do not fit beside it fail as a whole", async () => {
    const region = new Region();
    const limiter = start(region);
    await region.of(limiter.reserve({ ...tokens, cost: 8 }));
    const batch = await region.of(limiter.limitMany([calls, { ...tokens, cost: 3 }]));
    expect(batch).toMatchObject({ success: false, decisions: [{ reason: "batch" }, { reason: "reserved" }] });
    expect(await region.of(limiter.limitMany([calls, { ...tokens, cost: 2 }]))).toMatchObject({ success: true });
  });

  test("leaves no room to a peek that does not fit beside it, and says what is left", async () => {
    const region = new Region();
    const limiter = start(region);
    await region.of(limiter.reserve({ ...tokens, cost: 8 }));
    expect(await region.ask(limiter, { ...tokens, cost: 0 })).toMatchObject({ success: true, remaining: 2 });
  });
});

describe("a denied reservation", () => {
  test("holds nothing: release does nothing, the other verbs reject", async () => {
    const region = new Region();
    const limiter = region.start();
    const denied = await region.of(limiter.reserve({ ...tokens, cost: 11 }));
    await region.of(denied.release());
    const verbs: (() => Promise<unknown>)[] = [() => denied.settle(1), () => denied.renew(), () => denied.extend(1)];
    for (const verb of verbs) {
      await expect(region.of(verb())).rejects.toMatchObject({ code: "RL_RESERVATION_DENIED" });
    }
  });
});

describe("reservations of a region", () => {
  test("are seen by every process that reserves: together they never hold more than the limit", async () => {
    const region = new Region();
    const limiters = [1, 2, 3, 4].map(() => region.start());
    const answers = await region.of(Promise.all(limiters.map((limiter) => limiter.reserve({ ...tokens, cost: 4 }))));
    expect(answers.filter(({ success }) => success)).toHaveLength(2);
  });

  test("are seen by the limits of a process that heard of them", async () => {
    const region = new Region();
    const [one, two] = [region.start(), region.start()];
    await region.of(one.reserve({ ...tokens, cost: 8 }));
    expect(await region.ask(two, { ...tokens, cost: 3 })).toMatchObject({ success: false, reason: "reserved" });
    expect(await region.ask(two, { ...tokens, cost: 2 })).toMatchObject({ success: true });
  });

  test("are settled, released and renewed by any process, with the token, and count once", async () => {
    const region = new Region();
    const [one, two] = [region.start(), region.start()];
    const held = await region.of(one.reserve({ ...tokens, cost: 4 }));
    expect(await region.of(two.renew(held.id, { ttl: "20m" }))).toBeGreaterThan(region.time.wallMs + 19 * 60_000);
    expect(await region.of(two.settle(held.id, 3))).toMatchObject({ counted: 3, repeated: false });
    expect(await region.of(one.settle(held.id, 3))).toMatchObject({ counted: 3, repeated: true });
    await expect(region.of(two.settle(held.id, 5))).rejects.toMatchObject({ code: "RL_RESERVATION_ENDED" });
    await expect(region.of(two.release(held.id))).rejects.toMatchObject({ code: "RL_RESERVATION_ENDED" });
    const other = await region.of(one.reserve([calls, tokens]));
    await region.of(two.release(other.id));
    await expect(region.of(two.settle(other.id, [1, 1]))).rejects.toMatchObject({ code: "RL_RESERVATION_ENDED" });
    expect(await region.ask(two, { ...tokens, cost: 0 })).toMatchObject({ remaining: 7 });
  });

  test("with an id that nobody knows, of another origin, or of no reservation, are refused, and nothing is counted", async () => {
    const [region, other] = [new Region(), new Region()];
    await other.time.advance(5_000);
    const [here, there] = [region.start(), other.start()];
    const { id } = await other.of(there.reserve({ ...tokens, cost: 4 }));
    await region.of(here.reserve(calls));
    await expect(region.of(here.settle(id, 1))).rejects.toMatchObject({ code: "RL_RESERVATION_ELSEWHERE" });
    const alone = region.start({ origin: undefined });
    const local = await region.of(alone.reserve(tokens));
    await expect(region.of(here.settle(local.id, 1))).rejects.toMatchObject({ code: "RL_RESERVATION_ELSEWHERE" });
    const mine = await region.of(here.reserve(tokens));
    const forged = `${"A".repeat(22)}${mine.id.slice(22)}`;
    await expect(region.of(here.settle(forged, 1))).rejects.toMatchObject({ code: "RL_RESERVATION_UNKNOWN" });
    await expect(region.of(here.release(forged))).rejects.toMatchObject({ code: "RL_RESERVATION_UNKNOWN" });
    await expect(region.of(here.renew(forged))).rejects.toMatchObject({ code: "RL_RESERVATION_UNKNOWN" });
    for (const junk of ["", "x", 7, null, `${mine.id}!`, "a.b.c", `${"A".repeat(22)}.1.bm9wZQ`]) {
      await expect(region.of(here.settle(junk as string, 1))).rejects.toMatchObject({ code: "RL_RESERVATION_INVALID" });
    }
    expect(here.inspect(tokens)).toMatchObject({ effective: 0, reserved: { cost: 1 } });
  });

  test("make a request look once, and requests that arrive during the look share the next one", async () => {
    const region = new Region();
    const limiter = region.start();
    await region.of(limiter.reserve({ ...tokens, cost: 10 }));
    const before = limiter.stats().origin!.holds;
    const answers = await region.of(Promise.all(Array.from({ length: 50 }, () => limiter.limit(tokens))));
    expect(answers.every(({ reason, degraded }) => reason === "reserved" && !degraded)).toBe(true);
    expect(limiter.stats().origin!.holds - before).toBeLessThanOrEqual(2);
    expect(limiter.inspect(tokens).strictForMs).toBe(0);
  });

  test("do not deny a request by a look that began before it arrived", async () => {
    // The origin has executed a look, and its answer is under way, when the hold is released. A request that arrives then fits.
    const answers: (() => void)[] = [];
    let isSlow = false;
    const region = new Region((time) => {
      const origin = new MemoryOrigin(time.clock);
      return {
        ...{ isVolatile: true as const, close: async () => {} },
        raise: (raises) => origin.raise(raises),
        read: (reads) => origin.read(reads),
        free: (frees) => origin.free(frees),
        hold: async (hold) => {
          const answer = await origin.hold(hold);
          if (isSlow && hold.id === "") await new Promise<void>((resolve) => answers.push(resolve));
          return answer;
        },
      };
    });
    const [one, two] = [region.start(), region.start()];
    const held = await region.of(one.reserve({ ...tokens, cost: 10 }));
    expect(await region.ask(two, tokens)).toMatchObject({ reason: "reserved" });
    isSlow = true;
    const first = two.limit(tokens);
    await region.time.advance(10);
    expect(answers).toHaveLength(1);
    await region.of(held.release());
    const second = two.limit({ ...tokens, cost: 10 });
    isSlow = false;
    answers[0]!();
    expect(await region.of(first)).toMatchObject({ success: false, reason: "reserved", degraded: false });
    expect(await region.of(second)).toMatchObject({ success: true, source: "origin", degraded: false });
  });

  test("that are gone at the origin deny nothing: the look decides, not memory", async () => {
    const region = new Region();
    const [one, two] = [region.start(), region.start()];
    const held = await region.of(one.reserve({ ...tokens, cost: 10 }));
    await region.ask(two, { ...tokens, cost: 0 });
    expect(two.inspect(tokens).reserved.cost).toBe(10);
    await region.of(held.release());
    expect(await region.ask(two, { ...tokens, cost: 10 })).toMatchObject({ success: true, source: "origin" });
  });
});

describe("reservations while the origin is unavailable", () => {
  /** An origin whose holds and frees can be lost: before they are executed, or their answers. */
  function unreliable(time: ManualTime) {
    const origin = new MemoryOrigin(time.clock);
    const fault: { kind: "none" | "away" | "unanswered" } = { kind: "none" };
    const lost = async <T>(call: () => Promise<T>): Promise<T> => {
      if (fault.kind === "away") throw new Error("away");
      const answer = await call();
      return fault.kind === "none" ? answer : new Promise<T>(() => {});
    };
    const wrapped: Origin = {
      isVolatile: true,
      raise: (raises) => lost(() => origin.raise(raises)),
      read: (reads) => lost(() => origin.read(reads)),
      hold: (hold) => lost(() => origin.hold(hold)),
      free: (frees) => lost(() => origin.free(frees)),
      close: async () => {},
    };
    return { wrapped, fault, origin };
  }

  function setUp() {
    let made: ReturnType<typeof unreliable> | undefined;
    const region = new Region((time) => {
      made = unreliable(time);
      return made.wrapped;
    });
    const limiter = region.start();
    const patiently = async <T>(answer: Promise<T>): Promise<T> => {
      void answer.catch(() => {});
      await region.time.advance(700);
      return answer;
    };
    return { region, limiter, patiently, fault: made!.fault, origin: made!.origin };
  }

  test("are held in memory, degraded, and settled as a charge", async () => {
    const { limiter, patiently, fault } = setUp();
    fault.kind = "away";
    const held = await patiently(limiter.reserve({ ...tokens, cost: 6 }));
    expect(held).toMatchObject({ success: true, degraded: true, source: "local" });
    expect(await patiently(limiter.reserve({ ...tokens, cost: 5 }))).toMatchObject({
      success: false,
      reason: "reserved",
    });
    expect(await patiently(held.settle(7))).toMatchObject({ counted: 7, degraded: true, pending: false });
    expect(limiter.inspect(tokens).current.own).toBe(7);
  });

  test("whose hold was executed and not answered leave nothing at the origin, and count once", async () => {
    const { region, limiter, patiently, fault } = setUp();
    fault.kind = "unanswered";
    const held = await patiently(limiter.reserve({ ...tokens, cost: 6 }));
    expect(held).toMatchObject({ success: true, degraded: true });
    fault.kind = "none";
    await region.time.advance(20_000);
    expect(limiter.stats().reservations).toMatchObject({ pending: 0, degraded: 1 });
    await patiently(held.settle(6));
    await region.time.advance(1_000);
    const other = region.start();
    expect(await patiently(other.limit({ ...tokens, cost: 0 }))).toMatchObject({ remaining: 4 });
  });

  test("whose settlement was executed and not answered are pending, repeated, and count once", async () => {
    const { region, limiter, patiently, fault } = setUp();
    const held = await patiently(limiter.reserve({ ...tokens, cost: 6 }));
    fault.kind = "unanswered";
    expect(await patiently(held.settle(5))).toMatchObject({ counted: 5, pending: true, degraded: true });
    expect(limiter.stats().reservations.pending).toBe(1);
    fault.kind = "none";
    await region.time.advance(30_000);
    expect(limiter.stats().reservations.pending).toBe(0);
    const other = region.start();
    expect(await patiently(other.limit({ ...tokens, cost: 0 }))).toMatchObject({ remaining: 5 });
  });

  test("a settlement that the origin never answers is given up after nine minutes, and reported", async () => {
    const { region, limiter, patiently, fault } = setUp();
    const held = await patiently(limiter.reserve({ ...tokens, cost: 6 }));
    fault.kind = "away";
    await patiently(held.settle(5));
    for (let i = 0; i < 10; i++) await region.time.advance(60_000);
    expect(limiter.stats().reservations).toMatchObject({ pending: 0, dropped: 1 });
  });

  test("close delivers what is pending, and reports what nobody confirmed", async () => {
    const { limiter, patiently, fault } = setUp();
    const held = await patiently(limiter.reserve({ ...tokens, cost: 6 }));
    fault.kind = "away";
    await patiently(held.settle(5));
    const closed = limiter.close();
    await patiently(new Promise<void>((resolve) => resolve()));
    for (let i = 0; i < 20; i++) await patiently(Promise.resolve());
    expect((await closed).lost).toBe(5);
    await expect(limiter.settle(held.id, 5)).rejects.toMatchObject({ code: "RL_CLOSED" });
    await expect(limiter.reserve(tokens)).rejects.toMatchObject({ code: "RL_CLOSED" });
  });

  test("a handle that nobody else has, and that the origin has forgotten, is counted by its process", async () => {
    let emptied: Origin | undefined;
    const region = new Region((time) => {
      let origin = new MemoryOrigin(time.clock);
      emptied = {
        ...{ isVolatile: true as const, close: async () => {} },
        raise: (raises) => origin.raise(raises),
        read: (reads) => origin.read(reads),
        hold: (hold) => origin.hold(hold),
        free: (frees) => origin.free(frees),
        life: () => {
          origin = new MemoryOrigin(time.clock);
          return 0;
        },
      };
      return emptied;
    });
    const limiter = region.start();
    const [own, given] = [
      await region.of(limiter.reserve({ ...tokens, cost: 3 })),
      await region.of(limiter.reserve({ ...tokens, cost: 3 })),
    ];
    expect(given.id).not.toBe("");
    emptied!.life!();
    expect(await region.of(own.settle(2))).toMatchObject({ counted: 2, degraded: true });
    await expect(region.of(given.settle(2))).rejects.toMatchObject({ code: "RL_RESERVATION_UNKNOWN" });
    expect(limiter.inspect(tokens).current.own).toBe(2);
  });
});

describe("bad input", () => {
  test.each([
    ["an empty list", [], {}, "RL_RESERVE_INVALID"],
    ["17 limits", Array(17).fill(tokens), {}, "RL_RESERVE_INVALID"],
    ["a cost of 0", { ...tokens, cost: 0 }, {}, "RL_COST_INVALID"],
    ["a negative cost", { ...tokens, cost: -1 }, {}, "RL_COST_INVALID"],
    ["no request", null, {}, "RL_REQUEST_INVALID"],
    ["a ttl that is too long", tokens, { ttl: "2h" }, "RL_TTL_INVALID"],
    ["a ttl that is too short", tokens, { ttl: 10 }, "RL_TTL_INVALID"],
    ["a ttl that is no duration", tokens, { ttl: "soon" }, "RL_TTL_INVALID"],
    ["an unknown option", tokens, { tll: "5m" }, "RL_OPTIONS_INVALID"],
    ["autoRenew that is not a boolean", tokens, { autoRenew: 1 }, "RL_OPTIONS_INVALID"],
  ])("reserve refuses %s", async (_, request, options, code) => {
    const region = new Region();
    const limiter = region.start();
    await expect(limiter.reserve(request as never, options as never)).rejects.toMatchObject({ code });
    expect(limiter.stats().reservations).toMatchObject({ open: 0, reserved: 0 });
  });

  test.each([0, 5_001, 1.5, "many"])("holdsMax refuses %s", (holdsMax) => {
    expect(() => new Limiter({ holdsMax: holdsMax as number })).toThrow("RL_HOLDS_MAX_INVALID");
  });

  test("a rule reserves its own limit, and refuses options it does not know", async () => {
    const region = new Region();
    const rule = region.start().rule({ namespace: "in-flight", limit: 2, duration: "1m" });
    const held = [await region.of(rule.reserve("u")), await region.of(rule.reserve("u", { ttl: "10s" }))];
    expect(held.map(({ success }) => success)).toEqual([true, true]);
    expect(await region.of(rule.reserve("u"))).toMatchObject({ success: false, reason: "reserved" });
    await region.of(held[0]!.release());
    expect(await region.of(rule.reserve("u"))).toMatchObject({ success: true });
    await expect(rule.reserve("u", { costs: 1 } as never)).rejects.toMatchObject({ code: "RL_OPTIONS_INVALID" });
  });
});
