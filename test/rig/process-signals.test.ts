/** Real servers, frozen, thawed and killed. */
import { spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MariadbServer } from "./mariadb-server.ts";
import { poll } from "./poll.ts";
import { PostgresServer } from "./postgres-server.ts";
import { freeze, hasEnded, kill, threadStates, treeOf } from "./process-signals.ts";
import { RedisServer } from "./redis-server.ts";

/** Enough that a `freeze` which does not wait is caught: one round in three finds a thread that still runs. */
const ROUNDS = 20;

let redis: RedisServer;
let mariadb: MariadbServer;
let postgres: PostgresServer;

const SERVERS = [
  { name: "Redis", process: () => redis, ask: () => redis.ask("PING") },
  { name: "MariaDB", process: () => mariadb.process, ask: () => mariadb.ask("SELECT 1") },
  { name: "PostgreSQL", process: () => postgres.process, ask: () => postgres.ask("SELECT 1") },
];

beforeAll(async () => {
  [redis, mariadb, postgres] = await Promise.all([RedisServer.start(), MariadbServer.start(), PostgresServer.start()]);
});
afterAll(async () => {
  for (const server of [redis, mariadb, postgres]) await server?.stop();
});

describe.each(SERVERS)("$name", ({ process, ask }) => {
  /** Without children that have ended while their parent is stopped. */
  const states = () =>
    new Set(
      treeOf(process().pid)
        .flatMap(threadStates)
        .filter((state) => state !== "Z"),
    );

  test("frozen, every thread of every process of it is stopped, and it answers only after the thaw", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      // Asked without a pause, so that threads are at work when the signal comes.
      let [isOn, answers] = [true, 0];
      const asking = (async () => {
        while (isOn) {
          await ask();
          answers++;
        }
      })();
      await poll("an answer", () => answers > 0);
      await process().freeze();
      expect([...states()]).toEqual(["T"]);
      isOn = false;
      await process().thaw();
      expect(states()).not.toContain("T");
      await asking;
    }
  });

  test("killed, frozen or not, none of its processes is left, and it starts again", async () => {
    for (const isFrozen of [false, true]) {
      const pids = treeOf(process().pid);
      if (isFrozen) await process().freeze();
      await process().kill();
      expect(pids.filter((pid) => !hasEnded(pid))).toEqual([]);
      await process().begin();
      await ask();
    }
  });
});

describe("a process that has ended", () => {
  test("cannot be frozen, and its end was waited for even if nobody fetches its exit code", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    await kill(child.pid!);
    expect(hasEnded(child.pid!)).toBe(true);
    await expect(freeze(child.pid!)).rejects.toThrow("has ended and cannot be frozen");
  });
});
