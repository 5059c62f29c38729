/** The row budget on a real database: identifiers that one tenant invents make a bounded number of rows, and cost no other tenant anything. */
import { Limiter, type LimiterEvent, memoryOrigin } from "sluice";
import { mysqlCounters } from "sluice/mysql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readWhole } from "../../packages/sluice/src/global/counters-conformance.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";

const CAPS = { namespaceRowsMax: 50, workspaceRowsMax: 80 };
const INVENTED = 200;
const HONEST = 30;
let mariadb: MariadbServer;

beforeAll(async () => {
  mariadb = await MariadbServer.start();
});

afterAll(async () => {
  await mariadb.stop();
});

function start(region: string, events: LimiterEvent[] = []): Limiter {
  const global = mysqlCounters({ url: mariadb.url() });
  const options = { publishMs: 100, importMs: 100, closeTimeoutMs: 2_000, floor: 0, ...CAPS };
  return new Limiter({ region, origin: memoryOrigin(), global, ...options, onEvent: (event) => events.push(event) });
}

/** Windows of thirty days, used up at once: such rows stay for weeks, and no order puts other keys before them. */
const invented = (namespace: string, identifier: string) =>
  ({ workspace: "evil", namespace, identifier, limit: 1, duration: "30d" }) as const;

const honest = (i: number) =>
  ({ workspace: "good", namespace: "api", identifier: `user_${i}`, limit: 100, duration: "1h" }) as const;

async function attack(limiter: Limiter, namespace: string, prefix: string): Promise<void> {
  for (let i = 0; i < INVENTED; i++) await limiter.limit(invented(namespace, `${prefix}${i}`));
}

/** Rows in the table, by workspace and namespace. */
async function rows(): Promise<Record<string, number>> {
  const counters = mysqlCounters({ url: mariadb.url() });
  const { cells } = await readWhole(counters, "observer", null);
  await counters.close();
  const counts: Record<string, number> = {};
  for (const { key } of cells) {
    const name = `${key.workspace}/${key.namespace}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

test("invented identifiers stop at the maximum of their namespace and workspace, over a restart too, and other tenants converge", async () => {
  const events: LimiterEvent[] = [];
  const us = start("us");
  let eu = start("eu", events);
  await Promise.all([eu.ready(), us.ready()]);

  await attack(eu, "one", "a");
  await poll("refused", () => eu.stats().global!.rows.refused >= INVENTED - CAPS.namespaceRowsMax);
  await attack(eu, "two", "a");
  for (let i = 0; i < HONEST; i++) await eu.limit(honest(i));
  const knowsAll = () =>
    Array.from({ length: HONEST }, (_, i) => us.inspect(honest(i)).current.foreign).every((count) => count === 1);
  await poll("all of the honest tenant's keys are known in the other region", knowsAll);
  // Rows that were on their way while a pass was read count twice until the next one, so a sixteenth may stay free.
  const isMost = ({ "evil/one": one = 0, "evil/two": two = 0 }) =>
    one <= CAPS.namespaceRowsMax &&
    one + two <= CAPS.workspaceRowsMax &&
    one + two >= CAPS.workspaceRowsMax * (15 / 16);
  await poll("the second namespace is at the workspace's maximum", async () => isMost(await rows()));
  await poll("reported", () => events.some(({ kind }) => kind === "rows"));
  expect(events.find(({ kind }) => kind === "rows")).toMatchObject({ layer: "global", workspace: "evil" });

  // The origin is in memory, so what was refused is lost with the process, and it says so.
  const { lost } = await eu.close();
  const left = await rows();
  expect([isMost(left), left["good/api"]]).toEqual([true, HONEST]);
  const evil = left["evil/one"]! + left["evil/two"]!;
  expect(lost).toBe(2 * INVENTED - evil);

  eu = start("eu");
  await eu.ready();
  expect(eu.stats().global!.rows).toEqual({ stored: evil + HONEST, refused: 0, full: 0 });
  await attack(eu, "one", "b");
  await poll("refused again", () => eu.stats().global!.rows.refused >= INVENTED - CAPS.workspaceRowsMax);
  expect(isMost(await rows())).toBe(true);
  await Promise.all([eu.close(), us.close()]);
});
