/** What is the same on every database, on a link that answers by itself: how much is done in one turn of the event loop. */
import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../../test/support/manual-time.ts";
import { SeededRandom } from "../../../../../test/support/seeded-random.ts";
import { StepwiseTurns } from "../../../../../test/support/stepwise-turns.ts";
import type { SqlLink, SqlRow, Statement } from "./link.ts";
import { SqlCounters } from "./sql-counters.ts";
import { SQLITE } from "./sqlite/dialect.ts";

const COLUMNS = 10;

function setUp(rows: readonly SqlRow[] = [], heads: SqlRow[] = []) {
  const time = new ManualTime();
  const turns = new StepwiseTurns(time);
  const sent: Statement[] = [];
  const link: SqlLink = {
    hasReplica: false,
    run: async (_side, statement) => {
      sent.push(statement);
      if (statement.text.includes("is_breaking")) return { rows: [1, 2, 3, 4].map(applied), affected: 0 };
      if (statement.text.includes("now_ms")) {
        return { rows: [heads.shift() ?? { changed_at: 1, oldest_at: 1, others_live: 1, now_ms: 2 }], affected: 0 };
      }
      return { rows, affected: 0 };
    },
    alone: () => Promise.reject(new Error("not asked for")),
    close: async () => {},
  };
  const environment = { clock: time.clock, timers: turns.timers, random: new SeededRandom(7) };
  const settings = { tablePrefix: "", migrate: false, overlapMs: 1_000 };
  const counters = new SqlCounters(link, SQLITE, settings, environment);
  /** How many rows were bound and sent by now. */
  const rowsSent = () => sent.filter(isWrite).reduce((sum, { values }) => sum + values.length / COLUMNS, 0);
  return { time, turns, sent, counters, rowsSent };
}

const applied = (version: number) => ({ version, is_breaking: 0 });
const isWrite = ({ text }: Statement) => text.startsWith("INSERT INTO counters");

describe("sql counters", () => {
  test("many rows are hashed in turns, and each statement of them is sent in one of its own", async () => {
    const { turns, counters, rowsSent } = setUp();
    const key = { workspace: "w", namespace: "n", durationMs: 60_000 as never };
    const rows = Array.from({ length: 1_024 }, (_, i) => {
      return { key: { ...key, identifier: `k${i}` }, sequence: 7, count: 1, expiresAtMs: 1 };
    });
    const publishing = counters.publish("eu", rows);
    const byTurn: number[] = [];
    await turns.each(() => byTurn.push(rowsSent()));
    await publishing;
    expect(byTurn).toEqual([0, 0, 0, 256, 512, 768, 1_024]);
  });

  test("changes too many for one span are read in several, and the cursor is that of the first: what came meanwhile is not passed over", async () => {
    const head = { oldest_at: 1, others_live: 0, now_ms: 10_000 };
    const heads = [
      { ...head, changed_at: 100, span_end: 50 },
      { ...head, changed_at: 200, span_end: null },
    ];
    const { counters, sent } = setUp([], heads);
    const first = await counters.read("eu", "5:5:5:0");
    expect([first.cursor, first.rest]).toEqual(["100:100:10000:0", "100:100:10000:0/50"]);
    const last = await counters.read("eu", first.rest!);
    expect([last.cursor, last.rest]).toEqual([first.cursor, undefined]);
    const spans = sent.filter(({ text }) => text.includes("changed_at <=")).map(({ values }) => values.slice(0, 2));
    expect(spans).toEqual([
      [5, 50],
      [50, 100],
    ]);
  });

  test("a page of many cells is made of rows in turns, none of them that in which the driver gave it", async () => {
    const row = { key_hash: new Uint8Array(16), workspace: "w", namespace: "n", identifier: "i", duration_ms: 60_000 };
    const rows = Array.from({ length: 900 }, () => ({ ...row, sequence: 7, total: 2, own: 1, is_live: 1 }));
    const { turns, counters } = setUp(rows);
    const reading = counters.read("eu", null);
    let count = 0;
    await turns.each(() => count++);
    expect((await reading).cells).toHaveLength(900);
    expect(count).toBe(3);
  });
});
