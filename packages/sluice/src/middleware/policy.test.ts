/** The core without a framework: what is decided at once, what is refused at start, and what it leaves behind. */
import { describe, expect, test, vi } from "vitest";
import { Limiter } from "../limiter/limiter.ts";
import { byHeader, byIp, compose, type RequestSource } from "./keys.ts";
import type { RateLimitOptions } from "./options.ts";
import { PolicySet } from "./policy.ts";

interface Req {
  readonly headers?: Readonly<Record<string, string>>;
  readonly peer?: string;
  readonly isClosed?: boolean;
}
type Options = RateLimitOptions<Req, () => void>;

const SOURCE: RequestSource<Req> = {
  header: ({ headers }, name) => headers?.[name],
  address: ({ headers, peer }) => headers?.["framework-ip"] ?? peer,
  peer: ({ peer }) => peer,
  trustsProxy: ({ headers }) => headers?.["framework-ip"] !== undefined,
  isClosed: ({ isClosed }) => isClosed === true,
};

const setOf = (options: object, needsKey = false) =>
  new PolicySet<Req, () => void>(options as Options, SOURCE, needsKey);
const request: Req = { peer: "192.0.2.1", headers: { "x-user": "u" } };

describe("policies", () => {
  test("what needs no waiting is decided without a promise", () => {
    const fixed = { limit: 5, duration: "1m" };
    const shapes = [
      fixed,
      { ...fixed, cost: 2 },
      { ...fixed, limit: () => 5, skip: () => false, allowList: ["10.0.0.1"], onMissingKey: "deny" },
      { policies: [fixed, { ...fixed, name: "b", key: compose(byIp(), byHeader("x-user")) }] },
      { limit: 0, duration: "1m", onDenied: () => {}, message: () => "no" },
    ];
    for (const options of shapes) {
      const policies = setOf(options);
      const decision = policies.decide(request);
      expect(decision).not.toBeInstanceOf(Promise);
      expect(policies.answerTo(request, decision as never)).not.toBeInstanceOf(Promise);
    }
  });

  test("an address that is not one falls back to the connection's, so that a forged one escapes no limit", () => {
    const policies = setOf({ limit: 1, duration: "1m" });
    const forged = { peer: "192.0.2.1", headers: { "framework-ip": "not an address" } };
    expect(policies.decide(forged)).toMatchObject({ success: true, policies: [{ identifier: "192.0.2.1" }] });
    expect(policies.decide(request)).toMatchObject({ success: false });
  });

  test("clients that have left share one count; a request without an address and a key is an error, never one shared count", () => {
    const policies = setOf({ limit: 1, duration: "1m" });
    expect(policies.decide({ isClosed: true })).toMatchObject({ policies: [{ identifier: "disconnected" }] });
    expect(policies.decide({ isClosed: true })).toMatchObject({ success: false });
    expect(() => policies.decide({})).toThrow(/^key must be .* \(RL_KEY_REQUIRED\)$/);
    expect(() => setOf({ limit: 1, duration: "1m" }, true)).toThrow(/RL_KEY_REQUIRED/);
    expect(() => setOf({ policies: [{ limit: 1, duration: "1m" }] }, true)).toThrow(/^policies\[0\]\.key /);
  });

  test("closes its own limiter, and not one that was passed in", async () => {
    const own = setOf({ limit: 1, duration: "1m" });
    await own.close();
    expect(() => own.decide(request)).toThrow(/RL_CLOSED/);
    const limiter = new Limiter();
    const shared = setOf({ limiter, limit: 1, duration: "1m" });
    await shared.close();
    expect(shared.decide(request)).toMatchObject({ success: true });
    await limiter.close();
  });

  test("draws no random number and sets no timer before its first request", () => {
    const random = vi.spyOn(crypto, "getRandomValues");
    const timer = vi.spyOn(globalThis, "setTimeout");
    const options = { limit: 1, duration: "1m" };
    for (let i = 0; i < 100; i++) setOf(options);
    expect([random.mock.calls.length, timer.mock.calls.length]).toEqual([0, 0]);
    vi.restoreAllMocks();
  });

  test("a fixed limit may be had twice under one name, and a limit by request beside it", () => {
    const limiter = new Limiter();
    const policy = { limiter, name: "api", duration: "1m" };
    setOf({ ...policy, limit: 5 });
    setOf({ ...policy, limit: 5 });
    setOf({ ...policy, limit: () => 7 });
    setOf({ ...policy, limit: 7, duration: "1h" });
    expect(() => setOf({ ...policy, limit: 7 })).toThrow(/^name must be .*; got "api" \(RL_POLICY_NAME_TAKEN\)$/);
  });
});

describe("options", () => {
  const good = { limit: 1, duration: "1m" };
  test.each<[string, object, RegExp]>([
    ["no options", undefined as never, /^options must be .* got undefined \(RL_OPTIONS_INVALID\)$/],
    ["no limit", { duration: "1m" }, /^limit must be .* got undefined \(RL_LIMIT_INVALID\)$/],
    ["no duration", { limit: 1 }, /^duration must be .* got undefined \(RL_DURATION_INVALID\)$/],
    ["an unknown option", { ...good, windowMs: 1 }, /"windowMs"; known options: .* \(RL_OPTIONS_INVALID\)$/],
    ["a misspelt option", { ...good, skp: 1 }, /"skp"; did you mean skip\? \(RL_OPTIONS_INVALID\)$/],
    ["an unknown option of a policy", { policies: [{ ...good, skip: 1 }] }, /^policies\[0\] .*"skip"/],
    ["no policies", { policies: [] }, /^policies must be .* \(RL_MIDDLEWARE_OPTION_INVALID\)$/],
    [
      "policies beside a limit",
      { policies: [good], limit: 1 },
      /^limit must be in each of the policies, not beside them; got 1 /,
    ],
    ["two policies of one name", { policies: [good, good] }, /^policies\[1\]\.name .* \(RL_POLICY_NAME_TAKEN\)$/],
    ["a limit below 0", { ...good, limit: -1 }, /^limit must be /],
    ["a cost of 1.5", { ...good, cost: 1.5 }, /^cost must be /],
    ["a name of umlauts", { ...good, name: "ä" }, /^name must be .* \(RL_MIDDLEWARE_OPTION_INVALID\)$/],
    ["a key that is no function", { ...good, key: "ip" }, /^key must be /],
    ["a limiter that is none", { ...good, limiter: {} }, /^limiter must be /],
    ["an unknown format", { ...good, headers: "draft-8" }, /^headers must be "draft-10"/],
    ["a status of 200", { ...good, statusCode: 200 }, /^statusCode must be /],
    ["a message of 5", { ...good, message: 5 }, /^message must be /],
    ["shadow as a text", { ...good, shadow: "yes" }, /^shadow must be /],
    ["a hook that is no function", { ...good, onDenied: true }, /^onDenied must be /],
    ["degraded as a flag", { ...good, degraded: true }, /^degraded must be /],
    ["an unknown onMissingKey", { ...good, onMissingKey: "allow" }, /^onMissingKey must be /],
    ["an allow list that is a text", { ...good, allowList: "::1" }, /^allowList must be /],
    [
      "a deny list with a host",
      { ...good, denyList: ["localhost"] },
      /^denyList\[0\] must be .* \(RL_ADDRESS_INVALID\)$/,
    ],
  ])("%s is an error at start", (_what, options, message) => {
    expect(() => setOf(options)).toThrow(message);
  });

  test("helpers refuse what they cannot use", () => {
    expect(() => byIp({ ipv6Subnet: 129 })).toThrow(/^ipv6Subnet must be /);
    expect(() => byIp({ subnet: 1 } as never)).toThrow(/RL_OPTIONS_INVALID/);
    expect(() => byHeader("x key")).toThrow(/^byHeader must be the name of a header/);
    expect(() => byHeader("x-key", { hash: 1 } as never)).toThrow(/^hash must be /);
    expect(() => compose()).toThrow(/^compose must be /);
  });
});
