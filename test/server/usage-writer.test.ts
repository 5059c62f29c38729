import type { Decision } from "sluice";
import { afterEach, describe, expect, test } from "vitest";
import { AdminStoreAway } from "../../packages/server/src/admin/admin-store.ts";
import type { BySpan, UsageRow } from "../../packages/server/src/admin/usage-row.ts";
import { UsageTally } from "../../packages/server/src/usage/usage-tally.ts";
import { UsageWriter } from "../../packages/server/src/usage/usage-writer.ts";
import { ManualTime } from "../support/manual-time.ts";

const ALLOWED: Decision = {
  success: true,
  limit: 10,
  remaining: 9,
  reset: 0,
  retryAfterMs: 0,
  current: 0,
  reason: "allowed",
  source: "local",
  degraded: false,
};
const KEEP: BySpan = { minute: 6 * 3_600_000, hour: 30 * 86_400_000, day: 400 * 86_400_000 };

/** A store in memory that can be away, or wait. */
class Rig {
  readonly time = new ManualTime();
  readonly tally = new UsageTally();
  readonly writes: (readonly UsageRow[])[] = [];
  readonly deletions: BySpan[] = [];
  readonly events: string[] = [];
  dropped = 0;
  isAway = false;
  gate: Promise<void> = Promise.resolve();
  deletable = 0;
  readonly writer = new UsageWriter({
    tally: this.tally,
    store: {
      addUsage: async (rows) => {
        await this.gate;
        if (this.isAway) throw new AdminStoreAway("away");
        this.writes.push(rows);
      },
      deleteUsage: async (keptFromMs) => {
        this.deletions.push(keptFromMs);
        return this.deletable-- > 0 ? 200 : 0;
      },
    },
    log: {
      debug: () => {},
      info: (event) => this.events.push(event),
      warn: (event) => this.events.push(event),
      error: (event) => this.events.push(event),
    },
    environment: { clock: this.time.clock, timers: this.time.timers, random: { uint32: () => 1_234 } },
    keepMs: KEEP,
    onDrop: (rows) => {
      this.dropped += rows;
    },
  });

  check(count: number): void {
    for (let i = 0; i < count; i++) {
      const namespace = {
        id: `n${i}`,
        workspaceId: "default",
        name: "",
        isShadow: false,
        createdAtMs: 0,
        deletedAtMs: null,
      };
      this.tally.decided(namespace, { cost: 2, limit: 10, duration: 60_000 }, ALLOWED, false);
    }
  }

  get rows(): readonly UsageRow[] {
    return this.writes.flat();
  }
}

let rig: Rig;
afterEach(() => {
  rig.isAway = false;
});

describe("usage writer", () => {
  test("a minute is written once, as a row of the minute, the hour and the day it was in", async () => {
    rig = new Rig();
    await rig.time.advance(3 * 3_600_000 + 61_000);
    const minuteMs = rig.time.wallMs - (rig.time.wallMs % 60_000);
    rig.writer.start();
    rig.check(1);
    await rig.time.advance(70_000);
    const own = rig.rows.filter(({ subjectId }) => subjectId === "n0");
    expect(own.map(({ span, atMs }) => [span, atMs])).toEqual([
      ["minute", minuteMs],
      ["hour", minuteMs - (minuteMs % 3_600_000)],
      ["day", minuteMs - (minuteMs % 86_400_000)],
    ]);
    expect(own[0]).toMatchObject({ allowed: 1, cost: 2 });
    await rig.time.advance(600_000);
    expect(rig.rows).toHaveLength(6);
  });

  test("no write has more than 200 rows, however many namespaces there are", async () => {
    rig = new Rig();
    rig.check(1_000);
    await rig.writer.writeOnce(0);
    expect(rig.rows).toHaveLength(3 * 1_001);
    expect(Math.max(...rig.writes.map(({ length }) => length))).toBeLessThanOrEqual(200);
  });

  test("what a store refuses is dropped and counted, logged once, and never written later", async () => {
    rig = new Rig();
    rig.writer.start();
    rig.isAway = true;
    for (let minute = 0; minute < 3; minute++) {
      rig.check(2);
      await rig.time.advance(60_000);
    }
    await rig.time.advance(10_000);
    expect(rig.dropped).toBe(3 * 9);
    expect(rig.events).toEqual(["usage.dropped"]);
    rig.isAway = false;
    rig.check(1);
    await rig.time.advance(60_000);
    expect(rig.rows).toHaveLength(6);
    expect(rig.events).toEqual(["usage.dropped", "usage.written"]);
  });

  test("a minute that ends while another one is being written is dropped: at most one waits", async () => {
    rig = new Rig();
    rig.writer.start();
    let open = () => {};
    rig.gate = new Promise((resolve) => {
      open = resolve;
    });
    rig.check(1);
    await rig.time.advance(61_300);
    rig.check(1);
    await rig.time.advance(60_000);
    expect(rig.dropped).toBe(6);
    open();
    await rig.time.settle();
    expect(rig.rows).toHaveLength(6);
  });

  test("rows that are too old are deleted in bounded steps after each minute", async () => {
    rig = new Rig();
    rig.deletable = 1_000;
    await rig.writer.writeOnce(0);
    expect(rig.deletions).toHaveLength(20);
    const { wallMs } = rig.time;
    expect(rig.deletions[0]).toEqual({
      minute: wallMs - KEEP.minute,
      hour: wallMs - KEEP.hour,
      day: wallMs - KEEP.day,
    });
  });

  test("a close writes the minute that runs, and leaves no timer", async () => {
    rig = new Rig();
    rig.writer.start();
    await rig.time.advance(30_000);
    rig.check(1);
    await rig.writer.close();
    expect(rig.rows[0]?.atMs).toBe(rig.time.wallMs - 30_000);
    expect(rig.time.pending).toBe(0);
  });
});
