/**
 * One transaction that changes records: it holds the revision, so that it is alone and its changes have an order.
 *
 * Every record it writes gets a revision of its own and a line in the audit trail; one that would not change anything gets neither.
 */
import { isDeepStrictEqual } from "node:util";
import type { AdminTables } from "./admin-schema.ts";
import { type Actor, AdminStoreAway, type KeyActor } from "./admin-store.ts";
import type { AuditRecord } from "./records.ts";
import type { RunSql, SqlLink, SqlRow } from "./sql-link.ts";
import { type Kind, type Records, recordIn, recordsIn } from "./stored-record.ts";

export interface Write<K extends Kind> {
  readonly kind: K;
  readonly before: Records[K] | null;
  readonly after: Records[K];
  /** What it is found by, besides its id; null: nothing, and the text is free for another. */
  readonly lookup: string | null;
  readonly isDeleted?: boolean;
  readonly action: string;
}

/** Deleted records are kept for as many changes, so that a server which missed few of them need not read everything. */
const TOMBSTONE_REVISIONS = 10_000;
/** How often tombstones are looked for: they are few, and the search reads all records. */
const PURGE_EVERY = 1_000;
/** How often, and how many of, the oldest lines of the audit trail are looked at: it loses them faster than it can grow. */
const AUDIT_PRUNE_EVERY = 10;
const AUDIT_PRUNE_MAX = 500;

export interface ChangeBegin {
  readonly actor: Actor;
  /** When the transaction began, not when the change was asked for: a key may expire while its change waits. */
  readonly nowMs: () => number;
  /** How old a line of the audit trail may be. */
  readonly auditKeepMs: number;
}

export class SqlChange {
  readonly #run: RunSql;
  readonly #tables: AdminTables;
  readonly #begin: ChangeBegin;
  readonly atMs: number;
  #revision: number;

  private constructor(run: RunSql, tables: AdminTables, begin: ChangeBegin, revision: number) {
    this.#run = run;
    this.#tables = tables;
    this.#begin = begin;
    this.atMs = begin.nowMs();
    this.#revision = revision;
  }

  static make<T>(
    link: SqlLink,
    tables: AdminTables,
    begin: ChangeBegin,
    work: (change: SqlChange) => Promise<T>,
  ): Promise<T> {
    return link.transaction(async (run) => {
      const [row] = await run(`SELECT revision FROM ${tables.revision} WHERE id = 1${link.dialect.forUpdate}`);
      if (row === undefined) throw new AdminStoreAway(`${tables.revision} is empty`);
      const change = new SqlChange(run, tables, begin, Number(row["revision"]));
      if (typeof begin.actor !== "string") await change.#checkActor(begin.actor);
      return work(change);
    });
  }

  /** Whoever revokes a key holds the revision as well, so no change of that key follows its revocation. */
  async #checkActor(actor: KeyActor): Promise<void> {
    const key = await this.byId("key", actor.keyId);
    actor.check(key, await this.byId("workspace", actor.workspaceId), this.atMs);
  }

  async byId<K extends Kind>(kind: K, id: string): Promise<Records[K] | null> {
    const { records } = this.#tables;
    const text = `SELECT record FROM ${records} WHERE kind = ? AND id = ? AND is_deleted = 0`;
    return only(kind, (await this.#run(text, kind, id))[0]);
  }

  async byLookup<K extends Kind>(kind: K, lookup: string): Promise<Records[K] | null> {
    const { records } = this.#tables;
    const text = `SELECT record FROM ${records} WHERE kind = ? AND lookup = ?`;
    return only(kind, (await this.#run(text, kind, lookup))[0]);
  }

  /** Those that are found beneath a text: see lookupUnder. */
  async under<K extends Kind>(kind: K, lookup: string): Promise<readonly Records[K][]> {
    const text = `SELECT record FROM ${this.#tables.records} WHERE kind = ? AND lookup > ? AND lookup < ?`;
    const rows = await this.#run(text, kind, lookupUnder(lookup, ""), `${lookup};`);
    return recordsIn(kind, rows);
  }

  /** The last change that is committed, or that this one has made. */
  get revision(): number {
    return this.#revision;
  }

  /** Those that changed after a revision. By the index of revisions: few have. */
  async since<K extends Kind>(kind: K, revision: number): Promise<readonly Records[K][]> {
    const text = `SELECT kind, record FROM ${this.#tables.records} WHERE revision > ? AND is_deleted = 0`;
    const rows = await this.#run(text, revision);
    const ofKind = rows.filter((row) => row["kind"] === kind);
    return recordsIn(kind, ofKind);
  }

  async all<K extends Kind>(kind: K): Promise<readonly Records[K][]> {
    const text = `SELECT record FROM ${this.#tables.records} WHERE kind = ? AND is_deleted = 0`;
    return recordsIn(kind, await this.#run(text, kind));
  }

  async write<K extends Kind>({ kind, before, after, lookup, isDeleted = false, action }: Write<K>): Promise<void> {
    if (!isDeleted && isDeepStrictEqual(before, after)) return;
    const { records, audit, revision } = this.#tables;
    this.#revision++;
    const row = [lookup, isDeleted ? 1 : 0, this.#revision, asciiJson(after)] as const;
    if (before === null) {
      const text = `INSERT INTO ${records} (lookup, is_deleted, revision, record, kind, id) VALUES (?, ?, ?, ?, ?, ?)`;
      await this.#run(text, ...row, kind, after.id);
    } else {
      const text = `UPDATE ${records} SET lookup = ?, is_deleted = ?, revision = ?, record = ? WHERE kind = ? AND id = ?`;
      await this.#run(text, ...row, kind, after.id);
    }
    const workspaceId = "workspaceId" in after ? after.workspaceId : after.id;
    const entry: Omit<AuditRecord, "cursor"> = {
      atMs: this.atMs,
      workspaceId,
      actor: nameOf(this.#begin.actor),
      action,
      subject: after.id,
      before: shownIn(before),
      after: isDeleted ? null : shownIn(after),
    };
    const insert = `INSERT INTO ${audit} (revision, workspace_id, at_ms, entry) VALUES (?, ?, ?, ?)`;
    await this.#run(insert, this.#revision, workspaceId, this.atMs, asciiJson(entry));
    await this.#run(`UPDATE ${revision} SET revision = ? WHERE id = 1`, this.#revision);
    if (this.#revision % AUDIT_PRUNE_EVERY === 0) await this.#pruneAudit();
    if (this.#revision % PURGE_EVERY === 0) await this.#purge(this.#revision - TOMBSTONE_REVISIONS);
  }

  /** By their number, which is their order: those before the first that is young enough, whatever clocks the others were made by. */
  async #pruneAudit(): Promise<void> {
    const { audit } = this.#tables;
    const endMs = this.atMs - this.#begin.auditKeepMs;
    if (!Number.isFinite(endMs)) return;
    const rows = await this.#run(`SELECT revision, at_ms FROM ${audit} ORDER BY revision LIMIT ${AUDIT_PRUNE_MAX}`);
    const kept = rows.findIndex((row) => Number(row["at_ms"]) >= endMs);
    const last = kept === -1 ? rows.at(-1) : rows[kept - 1];
    if (last !== undefined) await this.#run(`DELETE FROM ${audit} WHERE revision <= ?`, Number(last["revision"]));
  }

  async #purge(throughRevision: number): Promise<void> {
    const { records, revision } = this.#tables;
    await this.#run(`DELETE FROM ${records} WHERE is_deleted = 1 AND revision <= ?`, throughRevision);
    await this.#run(`UPDATE ${revision} SET purged = ? WHERE id = 1`, Math.max(0, throughRevision));
  }
}

/** What several may have: what one alone can have, and the id. In the order of ASCII the semicolon follows the colon. */
export function lookupUnder(lookup: string, id: string): string {
  return `${lookup}:${id}`;
}

function nameOf(actor: Actor): string {
  return typeof actor === "string" ? actor : `key:${actor.keyId}`;
}

/** A record that a change is about: one that cannot be read must not be taken for one that is not there. */
function only<K extends Kind>(kind: K, row: SqlRow | undefined): Records[K] | null {
  if (row === undefined) return null;
  const record = recordIn(kind, row);
  if (record === null) throw new AdminStoreAway(`the record of this ${kind} is corrupt`);
  return record;
}

/** A record for people: a hash is nobody's business. */
function shownIn(record: object | null): object | null {
  if (record === null) return null;
  const { hash: _, ...shown } = record as { readonly hash?: string };
  return shown;
}

/** JSON of ASCII characters alone. */
function asciiJson(value: object): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
