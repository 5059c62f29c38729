/**
 * One transaction that changes records: it holds the revision, so that it is alone and its changes have an order.
 *
 * Every record it writes gets a revision of its own and an entry in the audit trail, except overrides that go with a purged namespace; one
 * that would not change anything gets neither.
 */
import { isDeepStrictEqual } from "node:util";
import type { AdminTables } from "./admin-schema.ts";
import { type Actor, AdminStoreAway, type KeyActor } from "./admin-store.ts";
import { asciiJson } from "./ascii-json.ts";
import type { AuditRecord } from "./records.ts";
import { type AuditBounds, writeAudit } from "./sql-audit.ts";
import type { RunSql, SqlLink, SqlRow } from "./sql-link.ts";
import { type Kind, type Records, recordIn, recordsIn } from "./stored-record.ts";

export interface Write<K extends Kind> {
  readonly kind: K;
  readonly before: Records[K] | null;
  readonly after: Records[K];
  /** What it is found by, besides its id; null: nothing, and the text is free for another. */
  readonly lookup: string | null;
  readonly isDeleted?: boolean;
  /** Null: no entry in the audit trail. */
  readonly action: string | null;
  /** Whom the audit trail names; the actor of the change where nobody else is given. */
  readonly actor?: string;
}

export interface RecordPage<K extends Kind> {
  readonly records: readonly Records[K][];
  /** Where the next page begins; null: there is none. */
  readonly lastId: string | null;
}

/** Deleted records are kept for as many changes, so that a server which missed few of them need not read everything. */
const TOMBSTONE_REVISIONS = 10_000;
/** How often tombstones are looked for: they are few, and the search reads all records. */
const PURGE_EVERY = 1_000;

export interface ChangeBegin {
  readonly actor: Actor;
  /** When the transaction began, not when the change was asked for: a key may expire while its change waits. */
  readonly nowMs: () => number;
  readonly audit: AuditBounds;
}

export class SqlChange {
  readonly #run: RunSql;
  readonly #tables: AdminTables;
  readonly #begin: ChangeBegin;
  readonly atMs: number;
  readonly #beganAt: number;
  /** Records that were deleted in earlier revisions may have left no trace. */
  readonly tracesFrom: number;
  #revision: number;
  readonly #dropped = new Map<string, number>();

  private constructor(run: RunSql, tables: AdminTables, begin: ChangeBegin, revision: number, tracesFrom: number) {
    this.#run = run;
    this.#tables = tables;
    this.#begin = begin;
    this.atMs = begin.nowMs();
    this.#beganAt = revision;
    this.#revision = revision;
    this.tracesFrom = tracesFrom;
  }

  static make<T>(
    link: SqlLink,
    tables: AdminTables,
    begin: ChangeBegin,
    work: (change: SqlChange) => Promise<T>,
  ): Promise<T> {
    return link.transaction(async (run) => {
      const [row] = await run(`SELECT revision, purged FROM ${tables.revision} WHERE id = 1${link.dialect.forUpdate}`);
      if (row === undefined) throw new AdminStoreAway(`${tables.revision} is empty`);
      const change = new SqlChange(run, tables, begin, Number(row["revision"]), Number(row["purged"] ?? 0));
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

  /** By workspace: entries of the audit trail that this change deleted before their time, to keep the trail within its bytes. */
  get dropped(): ReadonlyMap<string, number> {
    return this.#dropped;
  }

  /** The last change that is committed, or that this one has made. */
  get revision(): number {
    return this.#revision;
  }

  get hasWritten(): boolean {
    return this.#revision > this.#beganAt;
  }

  /** Those that changed after a revision, in the order of their changes. By the index of revisions: few have. */
  async since<K extends Kind>(
    kind: K,
    revision: number,
  ): Promise<readonly { readonly record: Records[K]; readonly isPurged: boolean }[]> {
    const text = `SELECT kind, is_deleted, record FROM ${this.#tables.records} WHERE revision > ? ORDER BY revision`;
    const rows = await this.#run(text, revision);
    return rows.flatMap((row) => {
      const record = row["kind"] === kind ? recordIn(kind, row) : null;
      return record === null ? [] : { record, isPurged: Number(row["is_deleted"]) !== 0 };
    });
  }

  /** The next ones after an id, in the order of their ids. One that cannot be read is left out. */
  async page<K extends Kind>(kind: K, afterId: string, limit: number): Promise<RecordPage<K>> {
    const text = `SELECT id, record FROM ${this.#tables.records} WHERE kind = ? AND id > ? AND is_deleted = 0 ORDER BY id LIMIT ${limit}`;
    const rows = await this.#run(text, kind, afterId);
    const last = rows.at(-1);
    return {
      records: recordsIn(kind, rows),
      lastId: last === undefined || rows.length < limit ? null : String(last["id"]),
    };
  }

  /** Those of these ids that there are, whether or not they can be read. */
  async present(kind: Kind, ids: Iterable<string>): Promise<ReadonlySet<string>> {
    const asked = [...new Set(ids)];
    if (asked.length === 0) return new Set();
    const places = asked.map(() => "?").join(", ");
    const text = `SELECT id FROM ${this.#tables.records} WHERE kind = ? AND is_deleted = 0 AND id IN (${places})`;
    return new Set((await this.#run(text, kind, ...asked)).map((row) => String(row["id"])));
  }

  async all<K extends Kind>(kind: K): Promise<readonly Records[K][]> {
    const text = `SELECT record FROM ${this.#tables.records} WHERE kind = ? AND is_deleted = 0`;
    return recordsIn(kind, await this.#run(text, kind));
  }

  async write<K extends Kind>(write: Write<K>): Promise<void> {
    const { kind, before, after, lookup, isDeleted = false, action } = write;
    if (!isDeleted && isDeepStrictEqual(before, after)) return;
    const { records, revision } = this.#tables;
    this.#revision++;
    const row = [lookup, isDeleted ? 1 : 0, this.#revision, asciiJson(after)] as const;
    if (before === null) {
      const text = `INSERT INTO ${records} (lookup, is_deleted, revision, record, kind, id) VALUES (?, ?, ?, ?, ?, ?)`;
      await this.#run(text, ...row, kind, after.id);
    } else {
      const text = `UPDATE ${records} SET lookup = ?, is_deleted = ?, revision = ?, record = ? WHERE kind = ? AND id = ?`;
      await this.#run(text, ...row, kind, after.id);
    }
    if (action !== null) await this.#audit(write, action);
    await this.#run(`UPDATE ${revision} SET revision = ? WHERE id = 1`, this.#revision);
    if (this.#revision % PURGE_EVERY === 0) await this.#purge(this.#revision - TOMBSTONE_REVISIONS);
  }

  async #audit<K extends Kind>({ before, after, isDeleted = false, actor }: Write<K>, action: string): Promise<void> {
    const workspaceId = "workspaceId" in after ? after.workspaceId : after.id;
    const entry: Omit<AuditRecord, "cursor"> = {
      atMs: this.atMs,
      workspaceId,
      actor: actor ?? nameOf(this.#begin.actor),
      action,
      subject: after.id,
      before: shownIn(before),
      after: isDeleted ? null : shownIn(after),
    };
    const dropped = await writeAudit(this.#run, this.#tables, this.#begin.audit, { revision: this.#revision, entry });
    if (dropped > 0) this.#dropped.set(workspaceId, (this.#dropped.get(workspaceId) ?? 0) + dropped);
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
