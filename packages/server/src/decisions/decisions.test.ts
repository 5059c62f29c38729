import { Limiter } from "sluice";
import { describe, expect, test } from "vitest";
import type { Caller } from "../access/caller.ts";
import { Quota } from "../access/quota.ts";
import type { AdminStore } from "../admin/admin-store.ts";
import type { Directory } from "../admin/directory.ts";
import type { NamespaceRecord, OverrideRecord } from "../admin/records.ts";
import { Tally } from "../metrics/tally.ts";
import { UsageTally } from "../usage/usage-tally.ts";
import { Decisions } from "./decisions.ts";

const WORKSPACE = { id: "ws_1", name: "one", isDisabled: false, quota: null };
const REQUEST = { namespace: "api", identifier: "user_1", limit: 2, duration: 3_600_000 };

const limiter = new Limiter();

let count = 0;

function namespaceNamed(name: string, more: Partial<NamespaceRecord> = {}): NamespaceRecord {
  count += 1;
  const id = `rlns_${count}`;
  return { id, workspaceId: WORKSPACE.id, name, isShadow: false, createdAtMs: 0, deletedAtMs: null, ...more };
}

function callerWith(...permissions: string[]): Caller {
  const key = {
    id: "key_1",
    workspaceId: WORKSPACE.id,
    name: "",
    hash: "",
    start: "",
    permissions,
    isDisabled: false,
    createdAtMs: 0,
    expiresAtMs: null,
  };
  return { key, workspace: WORKSPACE };
}
const ROOT = callerWith("*");

/** The service on these namespaces, and what was created in its store. */
function serviceOn(known: readonly NamespaceRecord[], override?: Partial<OverrideRecord>) {
  const namespaces = [...known];
  const created: string[] = [];
  const directory = {
    namespaceOf: (_workspace: string, idOrName: string) =>
      namespaces.find(({ id, name }) => id === idOrName || name === idOrName),
    overrideFor: () => override,
    refresh: async () => {},
  } as unknown as Directory;
  const store = {
    createNamespace: async (_workspace: string, name: string) => {
      created.push(name);
      const made = namespaceNamed(name);
      namespaces.push(made);
      return made;
    },
  } as unknown as AdminStore;
  const tally = new Tally();
  const quota = new Quota(limiter, null, () => 0);
  return {
    decisions: new Decisions({
      limiter,
      directory,
      store,
      quota,
      tally,
      topIdentifiers: null,
      usage: new UsageTally(),
    }),
    tally,
    created,
  };
}

describe("decision service", () => {
  test("a decision from memory comes without a promise, and is counted in the metrics", () => {
    const { decisions, tally } = serviceOn([namespaceNamed("api")]);
    const decided = decisions.decide(ROOT, REQUEST, null);
    expect(decided).toMatchObject({ decision: { success: true, remaining: 1 }, isShadowed: false });
    expect(tally.read().namespaces).toMatchObject([{ namespace: "api", allowed: 1, denied: 0 }]);
  });

  test("a batch from memory comes without a promise", () => {
    const { decisions } = serviceOn([namespaceNamed("api")]);
    const decided = decisions.decideMany(ROOT, [REQUEST, { ...REQUEST, identifier: "user_2" }], null);
    expect(decided).toMatchObject({ success: true, items: [{ isShadowed: false }, { isShadowed: false }] });
  });

  test("an override replaces limit and duration, and a shadow lets a denial pass", async () => {
    const { decisions, tally } = serviceOn([namespaceNamed("api")], {
      id: "rlor_1",
      limit: 0,
      durationMs: 1_000,
      isShadow: true,
    });
    const { resolved, decision, isShadowed } = await decisions.decide(ROOT, REQUEST, null);
    expect([resolved.request.limit, resolved.request.duration]).toEqual([0, 1_000]);
    expect([decision.success, isShadowed]).toEqual([false, true]);
    expect(tally.read().namespaces).toMatchObject([{ shadowed: 1 }]);
  });

  test("a charge counts beyond the limit, by the override, and is neither allowed nor denied", () => {
    const { decisions, tally } = serviceOn([namespaceNamed("api")], {
      id: "rlor_1",
      limit: 3,
      durationMs: 7_200_000,
      isShadow: false,
    });
    const charged = decisions.charge(ROOT, { ...REQUEST, identifier: "charged", cost: 5 }, null);
    expect(charged).toMatchObject({ decision: { success: false, limit: 3, current: 5, over: 2 }, isShadowed: false });
    expect(decisions.decide(ROOT, { ...REQUEST, identifier: "charged" }, null)).toMatchObject({
      decision: { success: false, current: 6 },
    });
    expect(tally.read().namespaces).toMatchObject([{ allowed: 0, denied: 1, charged: 1 }]);
    expect(() => decisions.charge(callerWith("ratelimit.*.limit"), REQUEST, null)).toThrow(
      expect.objectContaining({ kind: "insufficient_permissions" }),
    );
  });

  test("a missing namespace is created for a caller that may, and refused to others", async () => {
    const { decisions, created } = serviceOn([]);
    expect(() => decisions.decide(callerWith("ratelimit.*.limit"), REQUEST, null)).toThrow(
      expect.objectContaining({ name: "Refusal", kind: "insufficient_permissions" }),
    );
    expect(created).toEqual([]);
    await decisions.decide(ROOT, REQUEST, null);
    expect(created).toEqual(["api"]);
  });

  test("a refused item of a batch is named by its place, and nothing is created or counted", () => {
    const { decisions, created, tally } = serviceOn([namespaceNamed("api")]);
    const broken = { ...REQUEST, identifier: "\ud800" };
    expect(() => decisions.decideMany(ROOT, [{ ...REQUEST, namespace: "new" }, broken], null)).toThrow(
      expect.objectContaining({ kind: "invalid_input", at: { field: "identifier", item: 1, fix: undefined } }),
    );
    expect(created).toEqual([]);
    expect(tally.read().decisions).toEqual([]);
  });

  test("a deleted namespace is refused as gone", () => {
    const { decisions } = serviceOn([namespaceNamed("api", { deletedAtMs: 1 })]);
    expect(() => decisions.decide(ROOT, REQUEST, null)).toThrow(expect.objectContaining({ kind: "namespace_gone" }));
  });
});
