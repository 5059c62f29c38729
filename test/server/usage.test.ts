/** `ratelimit.usage` over HTTP: what was counted comes back, by minute, hour and day, as JSON and as CSV. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, startApi } from "../rig/api-server.ts";

const DAY_MS = 86_400_000;
/** A day that is over. */
const DAY = DAY_MS * Math.floor(Date.now() / DAY_MS - 2);

let server: ApiServer;
let mailId = "";
beforeAll(async () => {
  server = await startApi();
  mailId = (await server.post("createNamespace", { name: "mail" })).body.data.namespaceId;
  const sums = { allowed: 5, denied: 2, shadowed: 0, degraded: 0, cost: 9 };
  const row = (subjectId: string, span: "minute" | "hour" | "day", atMs: number) => ({
    subjectId,
    span,
    atMs,
    ...sums,
  });
  await server.store.addUsage([
    row(mailId, "minute", DAY + 60_000),
    row(mailId, "minute", DAY + 180_000),
    row(mailId, "hour", DAY),
    row(mailId, "day", DAY),
    row("default", "day", DAY),
  ]);
});
afterAll(() => server.close());

describe("ratelimit.usage", () => {
  test("has the buckets of its range, and leaves out the empty ones", async () => {
    const { body } = await server.post("usage", { namespace: "mail", from: DAY, to: DAY + 600_000 });
    expect(body.data).toEqual({
      namespaceId: mailId,
      by: "minute",
      from: DAY,
      to: DAY + 600_000,
      buckets: [60_000, 180_000].map((ms) => ({
        at: DAY + ms,
        allowed: 5,
        denied: 2,
        shadowed: 0,
        degraded: 0,
        cost: 9,
      })),
    });
    const part = await server.post("usage", { namespace: mailId, from: DAY + 61_000, to: DAY + 180_001 });
    expect(part.body.data).toMatchObject({ from: DAY + 60_000, to: DAY + 240_000 });
    expect(part.body.data.buckets).toHaveLength(2);
  });

  test("without a namespace it is the whole workspace, for keys that may read all of it", async () => {
    const days = await server.post("usage", { by: "day", from: DAY });
    expect(days.body.data.buckets).toMatchObject([{ at: DAY, denied: 2 }]);
    const one = await server.createKey([`ratelimit.${mailId}.read_namespace`]);
    expect((await server.post("usage", { by: "day", from: DAY }, one)).status).toBe(403);
    expect((await server.post("usage", { namespace: "mail", by: "day", from: DAY }, one)).status).toBe(200);
  });

  test("as CSV it has a header, a line per bucket, and times in UTC", async () => {
    const response = await fetch(`${server.url}/v2/ratelimit.usage`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer a-root-key-for-tests" },
      body: JSON.stringify({ namespace: "mail", by: "hour", from: DAY, to: DAY + DAY_MS, format: "csv" }),
    });
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(await response.text()).toBe(
      `at,allowed,denied,shadowed,degraded,cost\r\n${new Date(DAY).toISOString()},5,2,0,0,9\r\n`,
    );
  });

  test("a range that is too long, empty or reversed is refused, and names the field", async () => {
    const nowMs = Date.now();
    for (const wrong of [
      { from: 0 },
      { from: nowMs - 1_501 * 60_000 },
      { from: nowMs + DAY_MS },
      { from: DAY + 60_000, to: DAY },
      { by: "week" },
      { format: "xml" },
    ]) {
      const { status, body } = await server.post("usage", wrong);
      expect([wrong, status]).toEqual([wrong, 400]);
      expect(body.error.errors[0].location).toMatch(/^body\.(from|by|format)$/);
    }
    expect((await server.post("usage", { by: "day", from: nowMs - 1_400 * DAY_MS })).status).toBe(200);
  });
});
