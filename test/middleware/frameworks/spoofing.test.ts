/** Forged forwarded headers: a client that writes whatever it likes stays one client, on every framework and for every way to trust a proxy. */
import { Limiter } from "sluice";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Options, Started } from "../framework.ts";
import { FRAMEWORKS } from "./frameworks.ts";

/** What the one trusted proxy appends: the address that the client really has. */
const CLIENT = "203.0.113.9";

/** 28 forgeries of X-Forwarded-For, as the client sends it to the proxy or to the server. */
const FORGED_CHAINS = [
  "1.1.1.1",
  "127.0.0.1",
  "10.0.0.1",
  "::1",
  "::ffff:10.0.0.1",
  "1.1.1.1, 127.0.0.1",
  "1.1.1.1, 2.2.2.2, 3.3.3.3, 4.4.4.4",
  "1.1.1.1,2.2.2.2",
  "1.1.1.1 , 2.2.2.2",
  ",1.1.1.1",
  "1.1.1.1,",
  ",,,",
  ", ,",
  "unknown",
  "_hidden",
  "localhost",
  '"1.1.1.1"',
  "[::1]:80",
  "[2001:db8::1]",
  "2001:db8::1%eth0",
  "1.1.1.1:8080",
  "01.01.01.01",
  "0x7f.0.0.1",
  "2130706433",
  "1.1.1.1;2.2.2.2",
  "for=1.1.1.1",
  "127.0.0.1, ".repeat(60).slice(0, -2),
  "9".repeat(2_000),
] as const;

/** 12 other headers in which proxies and platforms report a client's address. None of them is read. */
const FORGED_HEADERS = {
  forwarded: "for=1.1.1.1;proto=https",
  "x-real-ip": "1.1.1.1",
  "x-client-ip": "1.1.1.1",
  "x-cluster-client-ip": "1.1.1.1",
  "x-original-forwarded-for": "1.1.1.1",
  "x-forwarded": "1.1.1.1",
  "forwarded-for": "1.1.1.1",
  "true-client-ip": "1.1.1.1",
  "cf-connecting-ip": "1.1.1.1",
  "fastly-client-ip": "1.1.1.1",
  "x-appengine-user-ip": "1.1.1.1",
  "x-azure-clientip": "1.1.1.1",
} as const;

const FORGERIES: readonly Readonly<Record<string, string>>[] = [
  ...FORGED_CHAINS.map((chain) => ({ "x-forwarded-for": chain })),
  ...Object.entries(FORGED_HEADERS).map(([name, value]) => ({ [name]: value })),
];

const started: Started[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const one of started.splice(0)) await one.close();
});

/** As a proxy forwards a request: the client's own address is appended to whatever the client sent. */
const proxied = (headers: Readonly<Record<string, string>>) => {
  const chain = headers["x-forwarded-for"];
  return { ...headers, "x-forwarded-for": chain === undefined ? CLIENT : `${chain}, ${CLIENT}` };
};

describe.each(FRAMEWORKS.filter(({ hasAddress }) => hasAddress))("$name", (framework) => {
  const identifiers = async (
    options: Options,
    headers: readonly Readonly<Record<string, string>>[],
    trustsLoopback = false,
  ) => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const limiter = new Limiter({ cellsMax: 1_000 });
    const server = await framework.start({
      options: [{ limiter, limit: 1_000, duration: "1h", ...options }],
      trustsLoopback,
    });
    started.push(server);
    const seen = new Set<string>();
    for (const one of headers) {
      const { policies } = (await (await fetch(server.url, { headers: one })).json()) as {
        policies: { identifier: string }[];
      };
      seen.add(policies[0]?.identifier ?? "skipped");
    }
    await limiter.close();
    return [...seen];
  };

  test("40 forgeries are one client if no proxy is trusted", async () => {
    expect(FORGERIES).toHaveLength(40);
    expect(await identifiers({}, FORGERIES)).toEqual(["127.0.0.1"]);
    expect(await identifiers({ trustProxy: 0 }, FORGERIES)).toEqual(["127.0.0.1"]);
  });

  test("40 forgeries are one client behind one trusted proxy", async () => {
    const forged = FORGERIES.map(proxied);
    expect(await identifiers({ trustProxy: 1 }, forged)).toEqual([CLIENT]);
    expect(await identifiers({ trustProxy: ["127.0.0.0/8"] }, forged)).toEqual([CLIENT]);
  });

  if (framework.hasProxySetting && !framework.name.startsWith("Koa")) {
    // Koa's `proxy` believes the first entry, whatever its author: its own maxIpsCount is not part of this.
    test("40 forgeries are one client if the framework itself trusts the proxy", async () => {
      expect(await identifiers({}, FORGERIES.map(proxied), true)).toEqual([CLIENT]);
    });
  }
});
