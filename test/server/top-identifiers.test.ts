/** Who hits a namespace most, by the API and the command line, against what was really asked. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, ROOT, startApi } from "../rig/api-server.ts";
import { runSluice } from "../rig/command-line.ts";

/** So long that no window ends during the test. */
const DURATION_MS = 30 * 86_400_000;
let server: ApiServer;
let beganMs = 0;
beforeAll(async () => {
  beganMs = Date.now();
  server = await startApi();
});
afterAll(() => server.close());

const item = (namespace: string, identifier: string, cost = 1) => ({
  namespace,
  identifier,
  limit: 10,
  duration: DURATION_MS,
  cost,
});

async function limit(namespace: string, identifier: string, cost?: number): Promise<void> {
  expect((await server.post("limit", item(namespace, identifier, cost))).status).toBe(200);
}

async function top(namespace: string, more: object = {}) {
  const { status, body } = await server.post("topIdentifiers", { namespace, ...more });
  expect(status).toBe(200);
  return body.data;
}

const exactly = (identifier: string, count: number) => ({ identifier, atLeast: count, atMost: count });

describe("ratelimit.topIdentifiers", () => {
  test("use is accepted cost, denials are checks; neither is counted for the other", async () => {
    for (const [name, cost] of [
      ["big", 9],
      ["big", 5],
      ["big", 2],
      ["small", 3],
      ["peek", 0],
    ] as const)
      await limit("top.1", name, cost);
    const used = await top("top.1");
    expect(used).toMatchObject({ by: "use", total: 12, errorMax: 0, complete: true, othersAtMost: 0 });
    expect(used.identifiers).toEqual([exactly("big", 9), exactly("small", 3)]);
    expect(used.from).toBeGreaterThanOrEqual(beganMs - 1);
    expect(used.from).toBeLessThanOrEqual(Date.now());
    const denied = await top("top.1", { by: "denials" });
    expect(denied).toMatchObject({ by: "denials", total: 2, identifiers: [exactly("big", 2)] });
  });

  test("of a batch that failed nothing was used, and who fits by himself was not denied", async () => {
    await server.post("multiLimit", [item("top.2", "fits", 1), item("top.2", "fits not", 11)]);
    expect(await top("top.2")).toMatchObject({ total: 0, identifiers: [] });
    const { identifiers } = await top("top.2", { by: "denials" });
    expect(identifiers).toEqual([exactly("fits not", 1)]);
    await server.post("multiLimit", [item("top.2", "fits", 4), item("top.2", "too", 5)]);
    expect((await top("top.2")).identifiers).toEqual([exactly("too", 5), exactly("fits", 4)]);
  });

  test("who would have been denied but for a shadow is among the denials", async () => {
    await server.post("createNamespace", { name: "top.3", shadow: true });
    await limit("top.3", "watched", 11);
    expect(await top("top.3", { by: "denials" })).toMatchObject({ identifiers: [exactly("watched", 1)] });
  });

  test("with many identifiers, the heavy ones are found among them, and the bounds hold", async () => {
    const truth = new Map<string, number>();
    for (let batch = 0; batch < 30; batch++) {
      const items = Array.from({ length: 100 }, (_, i) => {
        const identifier = i % 4 === 0 ? `heavy_${i % 8}` : `light_${batch}_${i}`;
        truth.set(identifier, (truth.get(identifier) ?? 0) + 1);
        return { ...item("top.4", identifier), limit: 1_000_000 };
      });
      await server.post("multiLimit", items);
    }
    const { total, errorMax, identifiers, othersAtMost } = await top("top.4", { limit: 2 });
    expect(total).toBe(3000);
    expect(errorMax).toBeGreaterThan(0);
    expect(errorMax).toBeLessThanOrEqual(total / 100);
    expect(identifiers.map(({ identifier }: { identifier: string }) => identifier).sort()).toEqual([
      "heavy_0",
      "heavy_4",
    ]);
    for (const { identifier, atLeast, atMost } of identifiers) {
      expect(atLeast).toBeLessThanOrEqual(truth.get(identifier)!);
      expect(atMost).toBeGreaterThanOrEqual(truth.get(identifier)!);
      expect(atMost - atLeast).toBeLessThanOrEqual(errorMax);
    }
    for (const [name, count] of truth) if (!name.startsWith("heavy")) expect(count).toBeLessThanOrEqual(othersAtMost);
  });

  test.each([
    [{ by: "cost" }, 'body.by must be "use" or "denials"; got "cost"'],
    [{ limit: 0 }, "body.limit must be an integer from 1 to 100; got 0"],
    [{ limit: 101 }, "body.limit must be an integer from 1 to 100; got 101"],
  ])("%j is refused", async (more, detail) => {
    const answer = await server.post("topIdentifiers", { namespace: "top.1", ...more });
    expect([answer.status, answer.body.error.detail]).toEqual([400, detail]);
  });

  test("a server that is told to rank nobody answers 404, and limits as ever", async () => {
    const quiet = await startApi({}, {}, {}, {}, 0);
    try {
      expect((await quiet.post("limit", item("top.5", "a"))).body.data.success).toBe(true);
      const answer = await quiet.post("topIdentifiers", { namespace: "top.5" });
      expect([answer.status, answer.body.error.type]).toEqual([404, "/errors/application/hitters_off"]);
    } finally {
      await quiet.close();
    }
  });
});

describe("sluice top-identifiers", () => {
  const runAs = (name: string, args: string[]) =>
    runSluice([name, ...args], { SLUICE_URL: server.url, SLUICE_ROOT_KEY: ROOT });
  const run = (...args: string[]) => runAs("top-identifiers", args);

  test("prints a table, or JSON", async () => {
    await limit("top.6", "a", 3);
    await limit("top.6", "evil\u001b[2J", 1);
    const { code, out } = await run("top.6");
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      expect.stringMatching(/^4 of accepted cost since \d{4}-/),
      "identifier  at least  at most  share",
      "a           3         3        75.0 %",
      "evil�[2J    1         1        25.0 %",
      "every other identifier has at most 0",
    ]);
    const json = JSON.parse((await run("top.6", "--by", "denials", "--json")).out);
    expect(json).toMatchObject({ by: "denials", total: 0, identifiers: [] });
    expect((await run("top.6", "--by", "denials")).out).toMatch(
      /^0 denials since .*\nevery other identifier has at most 0$/,
    );
  });

  test("has the alias hitters, which takes the same flags and fails in the same way", async () => {
    await limit("top.7", "a", 3);
    // Since when it counts follows the clock, so that differs by some milliseconds.
    const rankingOf = ({ out }: { readonly out: string }) => ({ ...JSON.parse(out), from: 0 });
    const flags = ["top.7", "--json"];
    expect(rankingOf(await runAs("hitters", flags))).toEqual(rankingOf(await run(...flags)));
    const ran = await runAs("hitters", ["top.7", "--limit"]);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.errors).toContain("--limit must be an integer from 1 to 100");
    expect((await runSluice(["--help"], {})).out).toContain("top-identifiers|hitters");
  });

  test.each([
    [["top.6", "--by", "cost"], 2, '--by must be use or denials; got "cost"'],
    [["top.6", "--limit", "101"], 2, '--limit must be an integer from 1 to 100; got "101"'],
    [[], 2, "missing required argument 'namespace'"],
    [["nowhere"], 1, "Not Found"],
  ])("%j ends with %i", async (args, code, says) => {
    const ran = await run(...args);
    expect([ran.code, ran.out]).toEqual([code, ""]);
    expect(ran.errors).toContain(says);
  });
});
