import { describe, expect, test } from "vitest";
import { NamespaceCensus } from "./namespace-census.ts";
import { NamespacePurge } from "./namespace-purge.ts";
import type { NamespaceRecord } from "./records.ts";
import type { SqlChange } from "./sql-change.ts";

const KEEP_MS = 1_000;

function namespace(id: string, deletedAtMs: number | null): NamespaceRecord {
  return { id, workspaceId: "ws_1", name: id, isShadow: false, createdAtMs: 0, deletedAtMs };
}

/** A transaction on these records. `changed`: those that it reports as changed since any revision; all of them, unless it is given. */
function changeOn(records: readonly NamespaceRecord[], revision: number, atMs: number, more: Partial<Fake> = {}) {
  const written: string[] = [];
  const fake: Fake = { changed: records, tracesFrom: 0, ...more };
  const change = {
    revision,
    atMs,
    tracesFrom: fake.tracesFrom,
    hasWritten: false,
    since: async (_kind: string, from: number) =>
      (from === 0 ? records : fake.changed).map((record) => ({ record, isPurged: false })),
    byId: async (_kind: string, id: string) => records.find((record) => record.id === id) ?? null,
    page: async () => ({ records: [], lastId: null }),
    present: async () => new Set<string>(),
    write: async ({ before }: { readonly before: NamespaceRecord }) => {
      written.push(before.id);
    },
  };
  return { change: change as unknown as SqlChange, written };
}

interface Fake {
  readonly changed: readonly NamespaceRecord[];
  readonly tracesFrom: number;
}

describe("namespace purge", () => {
  /**
   * A server knew a namespace as deleted. Then a backup from before the deletion was restored, and other servers made so many changes
   * that the revision was above the one this server knew. It purged a namespace that was in use.
   */
  test.each([
    ["lives again", null],
    ["was deleted later", 5_500],
  ])("leaves a namespace that %s after a restored backup, and learns what there is", async (_what, deletedAtMs) => {
    const census = new NamespaceCensus();
    const purge = new NamespacePurge(census, { keepMs: KEEP_MS, deletedMax: 10 });
    await census.read(changeOn([namespace("rlns_1", 1)], 5, 2).change);
    const now = changeOn([namespace("rlns_1", deletedAtMs)], 100, 6_000, { changed: [] });
    await purge.stepOnce(now.change);
    expect(now.written).toEqual([]);
    await census.read(now.change);
    expect([census.livingIn("ws_1"), census.deletedIn("ws_1")]).toEqual(deletedAtMs === null ? [1, 0] : [0, 1]);
  });

  test("purges one that can no longer be restored", async () => {
    const purge = new NamespacePurge(new NamespaceCensus(), { keepMs: KEEP_MS, deletedMax: 10 });
    const { change, written } = changeOn([namespace("rlns_1", 1), namespace("rlns_2", null)], 100, 6_000);
    await purge.stepOnce(change);
    expect(written).toEqual(["rlns_1"]);
  });
});

describe("namespace census", () => {
  /** Deletions leave a trace for 10,000 revisions. A server that made no change for longer counted purged namespaces as living. */
  test("reads everything again if what was purged in between has left no trace", async () => {
    const census = new NamespaceCensus();
    await census.read(changeOn([namespace("rlns_1", null), namespace("rlns_2", null)], 5, 0).change);
    expect(census.livingIn("ws_1")).toBe(2);
    await census.read(changeOn([namespace("rlns_2", null)], 20_000, 0, { changed: [], tracesFrom: 10_000 }).change);
    expect(census.livingIn("ws_1")).toBe(1);
  });
});
