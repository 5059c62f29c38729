/**
 * A database that takes only small packets. Clients with long identifiers once stopped all publishing of a region: every statement
 * that held their rows failed as a whole, with the rows of everybody else in it, for ever.
 */
import { Limiter } from "sluice";
import { mysqlCounters } from "sluice/mysql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runSluice } from "../rig/command-line.ts";
import { MariadbServer } from "../rig/mariadb-server.ts";
import { poll } from "../rig/poll.ts";

/** 200 identifiers of 508 emoji are 400 kB: three statements of 128 KiB do not hold them. */
const PACKET_BYTES = 128 * 1024;
const LONG = 200;
const HONEST = { namespace: "n", identifier: "honest", limit: 1_000, duration: "1h" } as const;

let mariadb: MariadbServer;
beforeAll(async () => {
  mariadb = await MariadbServer.start([
    `--max-allowed-packet=${PACKET_BYTES}`,
    // What fits its buffer is taken, whatever the size allowed.
    "--net-buffer-length=1024",
  ]);
});
afterAll(() => mariadb.stop());

const limiter = (region: string) =>
  new Limiter({ region, global: mysqlCounters({ url: mariadb.url() }), publishMs: 100, importMs: 100, floor: 0 });

const rowsOf = async () => Number((await mariadb.ask("SELECT COUNT(*) AS c FROM sluice_counters"))[0]?.["c"]);

test("rows of long identifiers are published in smaller statements, and everybody else's with them", async () => {
  const [a, b] = [limiter("a"), limiter("b")];
  void a.decide({ ...HONEST, cost: 5 });
  void b.decide(HONEST);
  for (let i = 0; i < LONG; i++) {
    void a.decide({ namespace: "n", identifier: "\u{1F600}".repeat(508) + i, limit: 1, duration: "1h" });
  }
  void a.decide({ ...HONEST, cost: 85 });
  await poll("the honest count", () => b.inspect(HONEST).current.foreign === 90);
  await poll("every row", async () => (await rowsOf()) === LONG + 2);
  expect(a.stats().global!.store).toMatchObject({ quarantined: 0 });
  await Promise.all([a.close(), b.close()]);
});

test("a row that alone is too large is set aside, and the others go through", async () => {
  await mariadb.ask("DELETE FROM sluice_counters");
  await mariadb.ask("SET GLOBAL max_allowed_packet = 4096");
  const a = limiter("a");
  const longest = "\u{1F600}".repeat(512);
  void a.decide({ namespace: longest, identifier: longest, limit: 1, duration: "1h" });
  for (let i = 0; i < 20; i++) void a.decide({ ...HONEST, identifier: `honest ${i}` });
  await poll("the others", async () => (await rowsOf()) === 20, 30_000);
  expect(a.stats().global!.store!.quarantined).toBe(1);
  expect(a.stats().global!.store!.failures["packet"]).toBeGreaterThan(0);
  await a.close();
});

test("sluice doctor reports a max_allowed_packet that is too small", async () => {
  const found = async (bytes: number) => {
    await mariadb.ask(`SET GLOBAL max_allowed_packet = ${bytes}`);
    const { out } = await runSluice(["doctor", "--json", "--port", "0"], {
      SLUICE_SQL_URL: mariadb.url(),
      SLUICE_REGION: "eu",
    });
    const { findings } = JSON.parse(out) as { findings: { subject: string; status: string; text: string }[] };
    return findings.find(({ subject }) => subject === "database packets");
  };
  expect(await found(16 * 1024)).toMatchObject({ status: "fail", text: expect.stringContaining("16 KiB") });
  expect(await found(256 * 1024)).toMatchObject({ status: "warn", text: expect.stringContaining("256 KiB") });
  expect(await found(1024 * 1024)).toMatchObject({ status: "ok" });
});
