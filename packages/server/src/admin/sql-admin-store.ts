/** The admin store on SQL: what each change means. sql-change.ts makes it one transaction, sql-link.ts brings it to the database. */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Environment } from "../system.ts";
import { isPreset, newId } from "./admin-id.ts";
import { type AdminTables, adminTables, ensureAdminSchema } from "./admin-schema.ts";
import {
  type Actor,
  type AdminStore,
  type AuditQuestion,
  type Changes,
  type Deletable,
  KeyNotRoot,
  type NamespaceFlags,
  NamespaceLimitReached,
  NameTaken,
} from "./admin-store.ts";
import type { AuditRecord, KeyRecord, NamespaceRecord, OverrideRecord, WorkspaceRecord } from "./records.ts";
import { type Kind, lookupUnder, type Records, SqlChange } from "./sql-change.ts";
import type { RunSql, SqlLink, SqlRow } from "./sql-link.ts";

export interface SqlAdminOptions {
  /** What the names of the tables begin with. */
  readonly tablePrefix?: string;
  /** Whether missing tables are made at the first use; otherwise that is `sluice migrate`'s. */
  readonly mayMigrate?: boolean;
  /** Living ones of a workspace. */
  readonly namespacesMax?: number;
  /** Changes that are older are taken out of the audit trail, a few with every tenth change. */
  readonly auditKeepMs?: number;
}

/** For so long traffic is told from memory that a workspace is full: who asks for ever new names must not keep the database busy. */
const FULL_MS = 1_000;

export class SqlAdminStore implements AdminStore {
  readonly #link: SqlLink;
  readonly #environment: Environment;
  readonly #tables: AdminTables;
  readonly #mayMigrate: boolean;
  /** That the tables are there: asked once, and again if it failed. */
  #schema: Promise<void> | null = null;
  readonly #namespacesMax: number;
  readonly #auditKeepMs: number;
  /** By workspace: until when it is taken to be full. */
  readonly #fullUntilMs = new Map<string, number>();

  constructor(
    link: SqlLink,
    environment: Environment,
    {
      tablePrefix,
      mayMigrate = true,
      namespacesMax = Number.POSITIVE_INFINITY,
      auditKeepMs = Number.POSITIVE_INFINITY,
    }: SqlAdminOptions = {},
  ) {
    this.#link = link;
    this.#environment = environment;
    this.#tables = adminTables(tablePrefix);
    this.#mayMigrate = mayMigrate;
    this.#namespacesMax = namespacesMax;
    this.#auditKeepMs = auditKeepMs;
  }

  async changesSince(revision: number): Promise<Changes | null> {
    await this.#ensureSchema();
    return this.#link.ask((run) => this.#readChanges(run, revision));
  }

  createWorkspace(workspace: WorkspaceRecord, key: KeyRecord | null, actor: Actor): Promise<boolean> {
    return this.#change(actor, async (change) => {
      if ((await change.byId("workspace", workspace.id)) !== null) return false;
      const action = "workspace.create";
      await change.write({ kind: "workspace", before: null, after: workspace, lookup: null, action });
      if (key !== null) {
        await change.write({ kind: "key", before: null, after: key, lookup: key.hash, action: "key.create" });
      }
      return true;
    });
  }

  saveWorkspace(workspace: WorkspaceRecord, actor: Actor): Promise<void> {
    return this.#change(actor, async (change) => {
      const before = await change.byId("workspace", workspace.id);
      const action = before === null ? "workspace.create" : "workspace.change";
      await change.write({ kind: "workspace", before, after: workspace, lookup: null, action });
    });
  }

  async createNamespace(
    workspaceId: string,
    name: string,
    actor: Actor,
    wanted: "traffic" | Pick<NamespaceRecord, "isShadow"> = { isShadow: false },
  ): Promise<NamespaceRecord> {
    const isTraffic = wanted === "traffic";
    if (isTraffic && this.#environment.clock.monoMs() < (this.#fullUntilMs.get(workspaceId) ?? 0)) throw this.#full();
    return this.#change(actor, async (change) => {
      const lookup = lookupOf(workspaceId, name);
      const living = await change.byLookup("namespace", lookup);
      if (living !== null && !isTraffic) throw new NameTaken(`${living.id} has the name`);
      const known = living ?? (isTraffic ? lastOf(await change.under("namespace", lookup)) : undefined);
      if (known !== undefined) return known;
      await this.#checkRoom(change, workspaceId);
      const after: NamespaceRecord = {
        id: newId("rlns", this.#environment.random),
        workspaceId,
        name,
        isShadow: isTraffic ? false : wanted.isShadow,
        createdAtMs: change.atMs,
        deletedAtMs: null,
      };
      await change.write({ kind: "namespace", before: null, after, lookup, action: "namespace.create" });
      return after;
    });
  }

  saveNamespace(flags: NamespaceFlags, action: string, actor: Actor): Promise<NamespaceRecord | null> {
    return this.#change(actor, async (change) => {
      const before = await change.byId("namespace", flags.id);
      if (before === null) return null;
      const { isShadow = before.isShadow, deletedAtMs = before.deletedAtMs } = flags;
      const after: NamespaceRecord = { ...before, isShadow, deletedAtMs };
      const lookup = lookupOf(before.workspaceId, before.name);
      if (before.deletedAtMs !== null && deletedAtMs === null) {
        const other = await change.byLookup("namespace", lookup);
        if (other !== null) throw new NameTaken(`${other.id} has the name now`);
      }
      await change.write({
        kind: "namespace",
        before,
        after,
        lookup: deletedAtMs === null ? lookup : lookupUnder(lookup, before.id),
        action,
      });
      return after;
    });
  }

  setOverride(override: Omit<OverrideRecord, "id" | "updatedAtMs">, actor: Actor): Promise<OverrideRecord> {
    return this.#change(actor, async (change) => {
      const lookup = lookupOf(override.namespaceId, override.identifier);
      const before = await change.byLookup("override", lookup);
      const { workspaceId, namespaceId, identifier, limit, durationMs, isShadow } = override;
      const isSame = before?.limit === limit && before.durationMs === durationMs && before.isShadow === isShadow;
      const after: OverrideRecord = {
        id: before?.id ?? newId("rlor", this.#environment.random),
        workspaceId,
        namespaceId,
        identifier,
        limit,
        durationMs,
        isShadow,
        updatedAtMs: isSame ? before.updatedAtMs : change.atMs,
      };
      await change.write({ kind: "override", before, after, lookup, action: "override.set" });
      return after;
    });
  }

  deleteOverride(namespaceId: string, identifier: string, actor: Actor): Promise<boolean> {
    return this.#change(actor, async (change) => {
      const before = await change.byLookup("override", lookupOf(namespaceId, identifier));
      if (before === null) return false;
      const action = "override.delete";
      await change.write({ kind: "override", before, after: before, lookup: null, isDeleted: true, action });
      return true;
    });
  }

  saveKey(key: KeyRecord, action: string, actor: Actor): Promise<void> {
    return this.#change(actor, (change) => putKey(change, key, action));
  }

  replaceKey(id: string, successor: KeyRecord, untilMs: number | null, actor: Actor): Promise<boolean> {
    return this.#change(actor, async (change) => {
      const before = await change.byId("key", id);
      if (before === null) return false;
      await putKey(change, successor, "key.create");
      if (untilMs === null) await dropKey(change, before);
      else await putKey(change, { ...before, expiresAtMs: untilMs }, "key.expire");
      return true;
    });
  }

  deleteKey(id: string, actor: Actor): Promise<boolean> {
    return this.#change(actor, async (change) => {
      const before = await change.byId("key", id);
      if (before === null) return false;
      await dropKey(change, before);
      return true;
    });
  }

  presetKey(key: KeyRecord, actor: Actor): Promise<void> {
    return this.#change(actor, async (change) => {
      const before = await change.byLookup("key", key.hash);
      const same = before?.workspaceId === key.workspaceId ? before : null;
      const { permissions, isDisabled, expiresAtMs } = key;
      const after: KeyRecord = { ...key, ...same, permissions, isDisabled, expiresAtMs };
      // Whoever sets the key that was printed means that one. Any other would become a root key by a slip of the configuration.
      if (same !== null && !isPreset(same) && !isDeepStrictEqual(same, after)) {
        throw new KeyNotRoot(`${same.id} has that token, and is no root key in use`);
      }
      await putKey(change, after, "key.preset");
      for (const other of await change.all("key")) {
        if (!isPreset(other) || other.workspaceId !== key.workspaceId || other.hash === key.hash) continue;
        await putKey(change, { ...other, isDisabled: true }, "key.disable");
      }
    });
  }

  async readAudit(
    workspaceId: string,
    { limit, before, sinceMs = 0, untilMs = Number.MAX_SAFE_INTEGER }: AuditQuestion,
  ): Promise<readonly AuditRecord[]> {
    await this.#ensureSchema();
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : Number(before);
    return this.#link.ask(async (run) => {
      const rows = await run(
        `SELECT revision, entry FROM ${this.#tables.audit} WHERE workspace_id = ? AND revision < ? AND at_ms >= ? AND at_ms < ?
          ORDER BY revision DESC LIMIT ${Math.trunc(limit)}`,
        workspaceId,
        end,
        sinceMs,
        untilMs,
      );
      return rows.map((row) => ({ cursor: String(row["revision"]), ...JSON.parse(String(row["entry"])) }));
    });
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  /** All workspaces together are counted first: that reads no record. */
  async #checkRoom(change: SqlChange, workspaceId: string): Promise<void> {
    if ((await change.count("namespace")) < this.#namespacesMax) return;
    const living = (await change.all("namespace")).filter(
      (one) => one.workspaceId === workspaceId && one.deletedAtMs === null,
    );
    if (living.length < this.#namespacesMax) return;
    this.#fullUntilMs.set(workspaceId, this.#environment.clock.monoMs() + FULL_MS);
    throw this.#full();
  }

  #full(): NamespaceLimitReached {
    return new NamespaceLimitReached(`the workspace has ${this.#namespacesMax} namespaces, as many as it may`);
  }

  async #change<T>(actor: Actor, work: (change: SqlChange) => Promise<T>): Promise<T> {
    await this.#ensureSchema();
    const begin = { actor, atMs: this.#environment.clock.wallMs(), auditKeepMs: this.#auditKeepMs };
    return SqlChange.make(this.#link, this.#tables, begin, work);
  }

  #ensureSchema(): Promise<void> {
    if (this.#schema === null) {
      const nowMs = this.#environment.clock.wallMs();
      const asked = ensureAdminSchema(this.#link, this.#tables, { mayMigrate: this.#mayMigrate, nowMs });
      this.#schema = asked;
      asked.catch(() => {
        this.#schema = null;
      });
    }
    return this.#schema;
  }

  /**
   * The revision first: every change up to it is committed and will be seen. A row may be newer than it, and comes again next time.
   * Who knows more than there is (a backup was restored), or has missed deletions that were cleared away, gets everything.
   */
  async #readChanges(run: RunSql, revision: number): Promise<Changes | null> {
    const [head] = await run(`SELECT revision, purged FROM ${this.#tables.revision} WHERE id = 1`);
    const now = Number(head?.["revision"] ?? 0);
    if (now === revision && revision > 0) return null;
    const isWhole = revision === 0 || revision > now || revision < Number(head?.["purged"] ?? 0);
    const rows = await run(
      `SELECT kind, is_deleted, record FROM ${this.#tables.records} WHERE revision > ?${isWhole ? " AND is_deleted = 0" : ""}
        ORDER BY revision`,
      isWhole ? 0 : revision,
    );
    return {
      revision: now,
      isWhole,
      workspaces: recordsOf("workspace", rows),
      namespaces: recordsOf("namespace", rows),
      overrides: allRecordsOf("override", rows),
      keys: allRecordsOf("key", rows),
    };
  }
}

/** What never changes of a key stays as it was made, whoever saves it. */
async function putKey(change: SqlChange, key: KeyRecord, action: string): Promise<void> {
  const before = await change.byId("key", key.id);
  if (before === null) {
    const other = await change.byLookup("key", key.hash);
    if (other !== null) throw new NameTaken(`${other.id} has that token`);
  }
  const { workspaceId, hash: keyHash, start, createdAtMs } = before ?? key;
  const after: KeyRecord = { ...key, workspaceId, hash: keyHash, start, createdAtMs };
  await change.write({ kind: "key", before, after, lookup: keyHash, action });
}

function dropKey(change: SqlChange, before: KeyRecord): Promise<void> {
  return change.write({ kind: "key", before, after: before, lookup: null, isDeleted: true, action: "key.revoke" });
}

function recordsOf<K extends Kind>(kind: K, rows: readonly SqlRow[]): readonly Records[K][] {
  return rows.filter((row) => row["kind"] === kind).map((row) => JSON.parse(String(row["record"])) as Records[K]);
}

/** With those that are gone. */
function allRecordsOf<K extends Kind>(kind: K, rows: readonly SqlRow[]): readonly (Records[K] & Deletable)[] {
  const ofKind = rows.filter((row) => row["kind"] === kind);
  const isDeleted = ofKind.map((row) => Number(row["is_deleted"]) !== 0);
  return recordsOf(kind, ofKind).map((record, i) => ({ ...record, isDeleted: isDeleted[i]! }));
}

function lastOf(deleted: readonly NamespaceRecord[]): NamespaceRecord | undefined {
  return deleted.toSorted((a, b) => b.deletedAtMs! - a.deletedAtMs!)[0];
}

/** Of an id, which holds no blank, and a text: no two pairs make the same. */
function lookupOf(id: string, text: string): string {
  return hash("sha256", JSON.stringify([id, text]), "hex");
}
