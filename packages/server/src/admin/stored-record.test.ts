import { describe, expect, test } from "vitest";
import type { AuditRecord } from "./records.ts";
import { auditIn, type Kind, type Records, recordIn } from "./stored-record.ts";

const WHOLE: Records = {
  workspace: { id: "ws_1", name: "a", isDisabled: false, quota: { limit: 5, durationMs: 1_000 } },
  namespace: { id: "rlns_1", workspaceId: "ws_1", name: "api", isShadow: false, createdAtMs: 1, deletedAtMs: null },
  override: {
    id: "rlor_1",
    workspaceId: "ws_1",
    namespaceId: "rlns_1",
    identifier: "*",
    limit: 0,
    durationMs: 1_000,
    isShadow: false,
    updatedAtMs: 1,
  },
  key: {
    id: "key_1",
    workspaceId: "ws_1",
    name: "",
    hash: "00",
    start: "sl_",
    permissions: ["*"],
    isDisabled: false,
    createdAtMs: 1,
    expiresAtMs: null,
  },
};
const ENTRY: Omit<AuditRecord, "cursor"> = {
  atMs: 7,
  workspaceId: "ws_1",
  actor: "cli:root",
  action: "key.create",
  subject: "key_1",
  before: null,
  after: {},
};
/** No field of any record may be one of these. */
const WRONG: readonly unknown[] = [undefined, [], [5], Number.NaN, { limit: -1, durationMs: 1 }];

describe("stored record", () => {
  test.each(Object.keys(WHOLE) as Kind[])("a %s with one wrong or missing field is not a record", (kind) => {
    expect(recordIn(kind, { record: JSON.stringify(WHOLE[kind]) })).toEqual(WHOLE[kind]);
    for (const field of Object.keys(WHOLE[kind])) {
      for (const value of WRONG) {
        // No permissions are a list of them, and without a number JSON has null, which some fields may be.
        if (field === "permissions" && Array.isArray(value) && value.length === 0) continue;
        const text = JSON.stringify({ ...WHOLE[kind], [field]: value });
        if (text.includes(`"${field}":null`) && ["quota", "deletedAtMs", "expiresAtMs"].includes(field)) continue;
        expect(recordIn(kind, { record: text }), `${field} ${text}`).toBeNull();
      }
    }
  });

  test.each(["", "null", "5", "[]", '"text"', "{", "{}"])("%j is not a record", (record) => {
    for (const kind of Object.keys(WHOLE) as Kind[]) expect(recordIn(kind, { record })).toBeNull();
  });

  test("an audit entry with a wrong field is shown as corrupt, at its place and time", () => {
    const row = { revision: 9, at_ms: 3 };
    expect(auditIn("ws_1", { ...row, entry: JSON.stringify(ENTRY) })).toEqual({ ...ENTRY, cursor: "9" });
    const corrupt = { cursor: "9", atMs: 3, workspaceId: "ws_1", actor: "unknown", action: "corrupt" };
    const spoilt = Object.keys(ENTRY).map((field) => JSON.stringify({ ...ENTRY, [field]: [] }));
    for (const entry of ["", "null", "[]", "{}", ...spoilt]) {
      expect(auditIn("ws_1", { ...row, entry })).toMatchObject(corrupt);
    }
  });
});
