/**
 * A row of the admin store read as a record: what is not one is null, and never an exception.
 *
 * One corrupt row (a repair by hand, a failing disk) must not stop the others from being read: a key could then not be revoked. Callers skip it
 * and report it by its kind and id.
 */
import type { AuditRecord, KeyRecord, NamespaceRecord, OverrideRecord, WorkspaceRecord } from "./records.ts";
import type { SqlRow } from "./sql-link.ts";

export interface Records {
  readonly workspace: WorkspaceRecord;
  readonly namespace: NamespaceRecord;
  readonly override: OverrideRecord;
  readonly key: KeyRecord;
}
export type Kind = keyof Records;

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isFlag: Check = (value) => typeof value === "boolean";
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
/** Of any clock. */
const isTime: Check = Number.isFinite;
const isRecord: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const isQuota: Check = (value) => {
  const { limit, durationMs } = (value ?? {}) as { readonly limit?: unknown; readonly durationMs?: unknown };
  return isCount(limit) && isCount(durationMs);
};

/** Every field that a record has, and what it must be. */
type Fields<T> = { readonly [F in keyof T]-?: Check };

const FIELDS: { readonly [K in Kind]: Fields<Records[K]> } = {
  workspace: { id: isText, name: isText, isDisabled: isFlag, quota: orNull(isQuota) },
  namespace: {
    id: isText,
    workspaceId: isText,
    name: isText,
    isShadow: isFlag,
    createdAtMs: isTime,
    deletedAtMs: orNull(isTime),
  },
  override: {
    id: isText,
    workspaceId: isText,
    namespaceId: isText,
    identifier: isText,
    limit: isCount,
    durationMs: isCount,
    isShadow: isFlag,
    updatedAtMs: isTime,
  },
  key: {
    id: isText,
    workspaceId: isText,
    name: isText,
    hash: isText,
    start: isText,
    permissions: isTexts,
    isDisabled: isFlag,
    createdAtMs: isTime,
    expiresAtMs: orNull(isTime),
  },
};

/** An entry of the audit trail as it is stored: its cursor is a column. */
const ENTRY_FIELDS: Fields<Omit<AuditRecord, "cursor">> = {
  atMs: isTime,
  workspaceId: isText,
  actor: isText,
  action: isText,
  subject: isText,
  before: orNull(isRecord),
  after: orNull(isRecord),
};

/** Of a row with `record`. */
export function recordIn<K extends Kind>(kind: K, row: SqlRow): Records[K] | null {
  return parsed(row["record"], FIELDS[kind] as Readonly<Record<string, Check>>) as Records[K] | null;
}

/** Of a row with `entry`. One that is corrupt is shown as such: the page that it is on, and those after it, must not be lost with it. */
export function auditIn(workspaceId: string, row: SqlRow): AuditRecord {
  const cursor = String(row["revision"]);
  const entry = parsed(row["entry"], ENTRY_FIELDS) as AuditRecord | null;
  if (entry !== null) return { ...entry, cursor };
  const unknown = { actor: "unknown", action: "corrupt", subject: "unknown", before: null, after: null };
  return { cursor, atMs: Number(row["at_ms"]), workspaceId, ...unknown };
}

function parsed(text: unknown, fields: Readonly<Record<string, Check>>): object | null {
  let found: unknown;
  try {
    found = JSON.parse(String(text));
  } catch {
    return null;
  }
  if (!isRecord(found)) return null;
  const values = found as Readonly<Record<string, unknown>>;
  return Object.entries(fields).every(([name, check]) => check(values[name])) ? values : null;
}

/** Those that can be read. */
export function recordsIn<K extends Kind>(kind: K, rows: readonly SqlRow[]): Records[K][] {
  return rows.flatMap((row) => recordIn(kind, row) ?? []);
}
