/**
 * What every middleware must do, whatever its framework: over real HTTP, on a real server. Time is by hand, so that no window ends
 * between two requests.
 */
import { type Decision, Limiter, type LimiterOptions, type Origin } from "sluice";
import { bearerToken, byCookie, byHeader, byIp, compose } from "sluice/express";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ManualTime } from "../support/manual-time.ts";
import type { Framework, Options, ServerPlan, Started } from "./framework.ts";

/** Milliseconds into a window of a minute: 29.5 s are left, which the headers round up to 30. */
const INTO_WINDOW_MS = 30_500;

export function testConformance(framework: Framework): void {
  describe(framework.name, () => {
    let time: ManualTime;
    const open: { close(): Promise<unknown> }[] = [];
    const limiterOf = (options: LimiterOptions = {}): Limiter => {
      const limiter = new Limiter({ cellsMax: 1_000, clock: time.clock, timers: time.timers, ...options });
      open.push(limiter);
      return limiter;
    };
    const start = async (
      plan: ServerPlan,
    ): Promise<(path?: string, headers?: Record<string, string>) => Promise<Response>> => {
      const server: Started = await framework.start(plan);
      open.unshift(server);
      return (path = "/", headers = {}) => fetch(server.url + path, { headers });
    };
    /** A server with one middleware. Requests are counted by the header `x-client`. */
    const limited = async (options: Options, plan: Partial<ServerPlan> = {}) => {
      const key = byHeader("x-client");
      const ask = await start({ ...plan, options: [{ limiter: limiterOf(), key, duration: "1m", ...options }] });
      return (client: string, path = "/", headers: Record<string, string> = {}) =>
        ask(path, { ...(client === "" ? {} : { "x-client": client }), ...headers });
    };
    const header = (request: unknown, name: string) => framework.header(request, name);
    const statuses = async (answers: readonly Promise<Response>[]) =>
      (await Promise.all(answers)).map(({ status }) => status);
    const listOf = ({ headers }: Response, name: string) => (headers.get(name) ?? "").split(", ").toSorted();
    const inOrder = async (ask: () => Promise<Response>, times: number): Promise<number[]> => {
      const seen: number[] = [];
      for (let i = 0; i < times; i++) seen.push((await ask()).status);
      return seen;
    };

    beforeEach(() => {
      time = new ManualTime();
      time.pass(INTO_WINDOW_MS);
    });
    afterEach(async () => {
      vi.restoreAllMocks();
      for (const one of open.splice(0)) await one.close();
    });

    test("requests up to the limit pass, the next one gets 429 with a problem, and the next window passes", async () => {
      const ask = await limited({ limit: 2 });
      const answers = [await ask("a"), await ask("a"), await ask("a")];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(answers.map(({ headers }) => headers.get("ratelimit"))).toEqual([
        '"default";r=1;t=30',
        '"default";r=0;t=30',
        '"default";r=0;t=30',
      ]);
      expect(answers.map(({ headers }) => headers.get("ratelimit-policy"))).toEqual(
        Array(3).fill('"default";q=2;w=60'),
      );
      expect(answers.map(({ headers }) => headers.get("retry-after"))).toEqual([null, null, "30"]);
      expect(answers[2]!.headers.get("content-type")).toMatch(/^application\/problem\+json\b/);
      expect(await answers[2]!.json()).toEqual({
        type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Request cannot be satisfied as assigned quota has been exceeded",
        status: 429,
        detail: "Try again in 30 seconds.",
        "violated-policies": ["default"],
      });
      expect((await ask("b")).status).toBe(200);
      await time.advance(2 * 60_000);
      expect((await ask("a")).status).toBe(200);
    });

    test("a denial's Retry-After is the first whole second at which the same request passes", async () => {
      const ask = await limited({ limit: 10, cost: 6 });
      expect((await ask("a")).status).toBe(200);
      const denied = await ask("a");
      const seconds = Number(denied.headers.get("retry-after"));
      time.pass((seconds - 1) * 1_000);
      expect((await ask("a")).status).toBe(429);
      time.pass(1_000);
      expect((await ask("a")).status).toBe(200);
    });

    test("a cost that can never fit has no Retry-After", async () => {
      const ask = await limited({ limit: 10, cost: 11 });
      const denied = await ask("a");
      expect([denied.status, denied.headers.get("retry-after")]).toEqual([429, null]);
    });

    test("if the second of two policies denies, the first is not charged, and the denial names the second", async () => {
      const limiter = limiterOf();
      const policies = [
        { name: "first", key: byHeader("x-client"), limit: 10, duration: "1m" },
        { name: "second", key: byHeader("x-client"), limit: 1, duration: "1h" },
      ];
      const ask = await start({ options: [{ limiter, policies }] });
      const first = await ask("/", { "x-client": "a" });
      expect(first.headers.get("ratelimit-policy")).toBe('"first";q=10;w=60, "second";q=1;w=3600');
      expect(first.headers.get("ratelimit")).toMatch(/^"first";r=9;t=30, "second";r=0;t=\d+$/);
      const denied = await ask("/", { "x-client": "a" });
      expect(denied.status).toBe(429);
      expect(await denied.json()).toMatchObject({ "violated-policies": ["second"] });
      expect(denied.headers.get("ratelimit")).toMatch(/^"first";r=9;t=30, "second";r=0;t=\d+$/);
      const key = { namespace: "first", identifier: "a", duration: "1m", limit: 10 } as const;
      expect(limiter.inspect(key).effective).toBe(1);
    });

    test("limit, duration, cost and key are functions of the framework's request, at once or later", async () => {
      for (const later of [false, true]) {
        const give = <T>(value: T) => (later ? Promise.resolve(value) : value);
        const ask = await limited({
          key: (request: unknown) => give(header(request, "x-user")),
          limit: (request: unknown) => give(header(request, "x-plan") === "large" ? 10 : 2),
          duration: (request: unknown) => give(header(request, "x-plan") === "large" ? "1h" : "1m"),
          cost: (request: unknown) => give(Number(header(request, "x-cost"))),
        });
        const small = await ask("", "/", { "x-user": "a", "x-plan": "small", "x-cost": "2" });
        expect(small.headers.get("ratelimit-policy")).toBe('"default";q=2;w=60');
        expect(small.headers.get("ratelimit")).toBe('"default";r=0;t=30');
        const large = await ask("", "/", { "x-user": "a", "x-plan": "large", "x-cost": "3" });
        expect(large.headers.get("ratelimit-policy")).toBe('"default";q=10;w=3600');
        expect(large.headers.get("ratelimit")).toMatch(/^"default";r=7;t=\d+$/);
      }
    });

    test("keys by header, cookie, token and their combination; secrets are hashed", async () => {
      const identifierOf = async (key: unknown, headers: Record<string, string>) => {
        const ask = await limited({ key, limit: 5 });
        const { policies } = (await (await ask("", "/", headers)).json()) as { policies: { identifier: string }[] };
        return policies[0]?.identifier;
      };
      const hash = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
      expect(await identifierOf(byHeader("X-Key"), { "x-key": "a" })).toBe("a");
      expect(await identifierOf(byHeader("x-key", { hash: true }), { "x-key": "a" })).toBe(hash);
      expect(await identifierOf(byCookie("sid"), { cookie: "other=1; sid=a; sid=b" })).toBe("a");
      expect(await identifierOf(bearerToken(), { authorization: "Bearer a" })).toBe(hash);
      expect(await identifierOf(bearerToken(), { authorization: "Basic a" })).toBe(undefined);
      const both = compose(byHeader("x-key"), byCookie("sid"));
      expect(await identifierOf(both, { "x-key": 'k","', cookie: "sid=s" })).toBe('["k\\",\\"","s"]');
      expect(await identifierOf(both, { "x-key": "k" })).toBe(undefined);
      const long = "x".repeat(600);
      expect(await identifierOf(byHeader("x-key"), { "x-key": long })).toMatch(/^[0-9a-f]{64}$/);
    });

    test("a request without a key passes uncounted, or is denied with 403, as onMissingKey says", async () => {
      const skips = await limited({ limit: 1 });
      expect(await inOrder(() => skips(""), 3)).toEqual([200, 200, 200]);
      expect((await skips("")).headers.get("ratelimit")).toBe(null);
      for (const onMissingKey of ["deny", () => "deny", async () => "deny"]) {
        const denies = await limited({ limit: 1, onMissingKey });
        const denied = await denies("");
        expect([denied.status, denied.headers.get("retry-after")]).toEqual([403, null]);
        expect((await denies("a")).status).toBe(200);
      }
    });

    test("skip lets requests through uncounted; a limit of 0 is a ban", async () => {
      const skip = (request: unknown) => header(request, "x-skip") === "yes";
      for (const one of [skip, async (request: unknown) => skip(request)]) {
        const ask = await limited({ limit: 1, skip: one });
        expect(await inOrder(() => ask("a", "/", { "x-skip": "yes" }), 3)).toEqual([200, 200, 200]);
        expect(await inOrder(() => ask("a"), 2)).toEqual([200, 429]);
      }
      const banned = await (await limited({ limit: 0 }))("a");
      expect([banned.status, banned.headers.get("retry-after")]).toEqual([429, null]);
    });

    test("shadow counts and reports, never denies, and shows nothing to clients", async () => {
      const onDenied = vi.fn();
      const ask = await limited({ limit: 1, shadow: true, onDenied });
      const answers = [await ask("a"), await ask("a")];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers[1]!.headers.get("ratelimit")).toBe(null);
      expect(await answers[1]!.json()).toMatchObject({ success: false, reason: "limit" });
      expect(onDenied).toHaveBeenCalledTimes(1);
    });

    test("message, statusCode and handler replace the answer; headers stay, and onDenied is called", async () => {
      const onDenied = vi.fn();
      const denialOf = async (options: Options) => {
        const ask = await limited({ limit: 1, onDenied, ...options });
        await ask("a");
        return ask("a");
      };
      const text = await denialOf({ message: "slow down", statusCode: 503 });
      expect([text.status, text.headers.get("content-type"), await text.text()]).toEqual([
        503,
        "text/plain; charset=utf-8",
        "slow down",
      ]);
      const json = await denialOf({ message: { error: "limit" } });
      expect([json.status, await json.json()]).toEqual([429, { error: "limit" }]);
      for (const later of [false, true]) {
        const made = (request: unknown, { policy }: { policy: string }) => `${header(request, "x-client")} ${policy}`;
        const message = later ? async (...args: Parameters<typeof made>) => made(...args) : made;
        expect(await (await denialOf({ message })).text()).toBe("a default");
      }
      const handled = await denialOf({ handler: framework.handler });
      expect([handled.status, await handled.text(), handled.headers.get("ratelimit")]).toEqual([
        418,
        "handled default",
        '"default";r=0;t=30',
      ]);
      expect(onDenied).toHaveBeenCalledTimes(5);
    });

    test("headers of every format, on 200 and 429, and none", async () => {
      const reset = Math.floor((time.wallMs + 29_500) / 1_000);
      const fields = async (headers: unknown) => {
        const ask = await limited({ limit: 1, headers });
        return [await ask("a"), await ask("a")].map((answer) =>
          [...answer.headers]
            .filter(([name]) => name.includes("ratelimit"))
            .map(([name, value]) => `${name}: ${value}`),
        );
      };
      const seven = ["ratelimit: limit=1, remaining=0, reset=30", "ratelimit-policy: 1;w=60"];
      expect(await fields("draft-7")).toEqual([seven, seven]);
      const six = ["ratelimit-limit: 1", "ratelimit-policy: 1;w=60", "ratelimit-remaining: 0", "ratelimit-reset: 30"];
      expect(await fields("draft-6")).toEqual([six, six]);
      // The reset of the denial is 1 ms after the window's end, when the share of the previous window falls below 1.
      const legacy = (at: number) => ["x-ratelimit-limit: 1", "x-ratelimit-remaining: 0", `x-ratelimit-reset: ${at}`];
      expect(await fields("legacy")).toEqual([legacy(reset), legacy(reset + 1)]);
      expect(await fields(false)).toEqual([[], []]);
    });

    test("exposeHeaders lets scripts of other origins read them, on 200 and 429", async () => {
      const ask = await limited({ limit: 1, exposeHeaders: true });
      for (const answer of [await ask("a"), await ask("a")]) {
        expect(answer.headers.get("access-control-expose-headers")).toBe("RateLimit, RateLimit-Policy, Retry-After");
      }
    });

    test("a handler that makes its own response keeps the headers", async () => {
      const ask = await limited({ limit: 1 });
      const answer = await ask("a", "/own");
      expect([await answer.text(), answer.headers.get("ratelimit")]).toEqual(["own", '"default";r=0;t=30']);
    });

    test("the decision is on the request", async () => {
      const ask = await limited({ limit: 3, name: "api" });
      expect(await (await ask("a")).json()).toMatchObject({
        success: true,
        policy: "api",
        reason: "allowed",
        limit: 3,
        remaining: 2,
        reset: time.wallMs + 29_500,
        retryAfterMs: 0,
        degraded: false,
        policies: [{ name: "api", identifier: "a", durationMs: 60_000, decision: { remaining: 2 } }],
      });
    });

    test("two middlewares on one request list both policies", async () => {
      const key = byHeader("x-client");
      const options = [
        { limiter: limiterOf(), name: "outer", key, limit: 5, duration: "1m" },
        { limiter: limiterOf(), name: "inner", key, limit: 1, duration: "1m" },
      ];
      const ask = await start({ options });
      const answer = await ask("/", { "x-client": "a" });
      expect(listOf(answer, "ratelimit")).toEqual(['"inner";r=0;t=30', '"outer";r=4;t=30']);
      expect(listOf(answer, "ratelimit-policy")).toEqual(['"inner";q=1;w=60', '"outer";q=5;w=60']);
      const denied = await ask("/", { "x-client": "a" });
      expect(denied.status).toBe(429);
      expect(listOf(denied, "ratelimit")).toEqual(['"inner";r=0;t=30', '"outer";r=3;t=30']);
    });

    test("two middlewares of one limiter, name and duration share a count", async () => {
      const policy = { limiter: limiterOf(), key: byHeader("x-client"), limit: 2, duration: "1m" };
      const [one, two] = [await start({ options: [policy] }), await start({ options: [policy] })];
      const client = { "x-client": "a" };
      expect(await statuses([one("/", client)])).toEqual([200]);
      expect(await statuses([two("/", client)])).toEqual([200]);
      expect(await statuses([one("/", client), two("/", client)])).toEqual([429, 429]);
    });

    test("two middlewares of one limiter, name and duration with different limits are an error at start", async () => {
      const policy = { limiter: limiterOf(), key: byHeader("x-client"), duration: "1m" };
      await start({ options: [{ ...policy, limit: 2 }] });
      await expect(start({ options: [{ ...policy, limit: 3 }] })).rejects.toThrow(/RL_POLICY_NAME_TAKEN/);
    });

    test("misuse is an error at start", async () => {
      const key = byHeader("x-client");
      const failing = async (options: Options) => expect(start({ options: [options] })).rejects;
      await (await failing({ key, duration: "1m" })).toThrow(/^limit must be .* got undefined \(RL_LIMIT_INVALID\)$/);
      await (await failing({ key, limit: 1, duratoin: "1m" })).toThrow(
        /did you mean duration\? \(RL_OPTIONS_INVALID\)$/,
      );
      const twice = { name: "a", key, limit: 1, duration: "1m" };
      await (await failing({ policies: [twice, twice] })).toThrow(/^policies\[1\]\.name .* \(RL_POLICY_NAME_TAKEN\)$/);
    });

    test("what a function throws goes to the framework's error handling, and nothing is counted", async () => {
      const limiter = limiterOf();
      const broken = () => {
        throw new Error("no plan");
      };
      for (const limit of [broken, async () => broken(), () => Number.NaN]) {
        const ask = await limited({ limiter, limit });
        const answer = await ask("a");
        expect(answer.status).toBe(500);
        expect(await answer.text()).toMatch(/no plan|limit must be an integer/);
      }
      for (const more of [{ message: broken }, { message: async () => broken() }, { onDenied: async () => broken() }]) {
        const ask = await limited({ limiter, limit: 0, ...more });
        expect(await (await ask("a")).text()).toBe("caught: no plan");
      }
      expect(limiter.stats().decisions.allowed).toBe(0);
    });

    test("what the handler throws goes to the framework's error handling, with the headers of the limit", async () => {
      const ask = await limited({ limit: 5 });
      const answer = await ask("a", "/fails");
      expect([answer.status, await answer.text()]).toEqual([500, "caught: the handler fails"]);
    });

    test("a store that is away: decided from memory, reported, and denied with 503 if degraded says so", async () => {
      const away: Origin = {
        raise: async () => Promise.reject(new Error("away")),
        read: async () => Promise.reject(new Error("away")),
        close: async () => {},
      };
      const onDegraded = vi.fn();
      const open = limiterOf({ origin: away, closeTimeoutMs: 0 });
      const ask = await limited({ limiter: open, limit: 1, onDegraded });
      const answer = await ask("a");
      expect([answer.status, ((await answer.json()) as Decision).degraded]).toEqual([200, true]);
      expect((await ask("a")).status).toBe(429);
      expect(onDegraded).toHaveBeenCalled();
      const closed = await limited({
        limiter: limiterOf({ origin: away, closeTimeoutMs: 0 }),
        limit: 1,
        degraded: "deny",
      });
      const refused = await closed("a");
      expect(refused.status).toBe(503);
      expect(await refused.json()).toMatchObject({
        type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      });
    });

    test("by outcome: only failures, successes or chosen responses count, and our own 429 does not", async () => {
      const inWindow = async (count: unknown, path: string) => {
        const limiter = limiterOf();
        const ask = await limited({ limiter, limit: 2, count });
        const seen = await inOrder(() => ask("a", path), 4);
        // What is counted after the answer may be counted a moment after the client has it.
        const effective = () => limiter.inspect({ namespace: "default", identifier: "a", duration: "1m" }).effective;
        return { seen, effective };
      };
      const never = await inWindow("failures", "/");
      expect([never.seen, never.effective()]).toEqual([[200, 200, 200, 200], 0]);
      const failures = await inWindow("failures", "/fails");
      expect(failures.seen).toEqual([500, 500, 429, 429]);
      expect(failures.effective()).toBe(2);
      expect((await inWindow("successes", "/")).seen).toEqual([200, 200, 429, 429]);
      expect((await inWindow("successes", "/fails")).seen).toEqual([500, 500, 500, 500]);
      expect((await inWindow(() => true, "/")).seen).toEqual([200, 200, 429, 429]);
      expect((await inWindow(() => false, "/")).seen).toEqual([200, 200, 200, 200]);
    });

    test("check decides without touching a response", async () => {
      const ask = await limited({ limit: 1 }, { isChecked: true });
      const answers = [await ask("a"), await ask("a")];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers.map(({ headers }) => headers.get("ratelimit"))).toEqual([null, null]);
      expect(await answers[1]!.json()).toMatchObject({ success: false, reason: "limit", policy: "default" });
    });

    if (framework.hasAddress) testAddresses();

    function testAddresses(): void {
      const identifierOf = async (options: Options, plan: Partial<ServerPlan>, forwardedFor?: string) => {
        const ask = await start({ ...plan, options: [{ limiter: limiterOf(), limit: 5, duration: "1m", ...options }] });
        const answer = await ask("/", forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor });
        const { policies } = (await answer.json()) as { policies: { identifier: string }[] };
        return policies[0]?.identifier;
      };

      test("without a key, clients are counted by address, and a forged X-Forwarded-For changes nothing but warns once", async () => {
        const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
        const ask = await start({ options: [{ limiter: limiterOf(), limit: 2, duration: "1m" }] });
        expect(await inOrder(() => ask(), 1)).toEqual([200]);
        expect(warn).not.toHaveBeenCalled();
        let last = 0;
        expect(await inOrder(() => ask("/", { "x-forwarded-for": `9.9.9.${last++}` }), 3)).toEqual([200, 429, 429]);
        expect(warn).toHaveBeenCalledTimes(1);
        expect(warn.mock.calls[0]?.[1]).toEqual({ code: "SLUICE_UNTRUSTED_PROXY" });
      });

      test("trustProxy believes as many proxies as it says, or those of its networks", async () => {
        const chain = "1.1.1.1, 2.2.2.2, 2001:db8:1:203:4::5";
        expect(await identifierOf({ trustProxy: 0 }, {}, chain)).toBe("127.0.0.1");
        expect(await identifierOf({ trustProxy: 1 }, {}, chain)).toBe("2001:db8:1:200::/56");
        expect(await identifierOf({ trustProxy: 2 }, {}, chain)).toBe("2.2.2.2");
        expect(await identifierOf({ trustProxy: ["127.0.0.0/8"] }, {}, chain)).toBe("2001:db8:1:200::/56");
        expect(await identifierOf({ trustProxy: ["127.0.0.0/8", "2001:db8::/32"] }, {}, chain)).toBe("2.2.2.2");
        expect(await identifierOf({ trustProxy: ["10.0.0.0/8"] }, {}, chain)).toBe("127.0.0.1");
        expect(await identifierOf({ key: byIp({ trustProxy: 1, ipv6Subnet: 64 }) }, {}, chain)).toBe(
          "2001:db8:1:203::/64",
        );
      });

      test("allowList and denyList take addresses and networks", async () => {
        const list = async (options: Options) => {
          const ask = await start({
            options: [{ limiter: limiterOf(), trustProxy: 1, limit: 1, duration: "1m", ...options }],
          });
          return inOrder(() => ask("/", { "x-forwarded-for": "10.1.2.3" }), 2);
        };
        expect(await list({ allowList: ["10.0.0.0/8"] })).toEqual([200, 200]);
        expect(await list({ allowList: ["10.1.2.4"] })).toEqual([200, 429]);
        expect(await list({ denyList: ["10.1.2.3"] })).toEqual([403, 403]);
        expect(await list({ denyList: ["10.1.2.3"], allowList: ["10.1.2.3"] })).toEqual([403, 403]);
      });

      if (framework.hasProxySetting) {
        test("by default the framework's own proxy setting decides", async () => {
          const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
          expect(await identifierOf({}, { trustsLoopback: true }, "1.1.1.1")).toBe("1.1.1.1");
          expect(warn).not.toHaveBeenCalled();
        });
      }
    }
  });
}
