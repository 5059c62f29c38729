/**
 * The admin store on SQL: what each change means. change-queue.ts gives it its turn, sql-change.ts makes it one transaction, sql-link.ts
 * brings it to the database.
 *
 * Invariant: the reads of the directory have a connection of their own and wait for nothing that a client can ask for.
 */
import { hash } from "node:crypto";
import type { Environment } from "../system/system.ts";
import { newId } from "./admin-id.ts";
import { type AdminTables, adminTables, ensureAdminSchema } from "./admin-schema.ts";
import {
  type Actor,
  type AdminStore,
  AdminStoreAway,
  type AuditQuestion,
  type Changes,
  type NamespaceFlags,
  NamespaceLimitReached,
  NameTaken,
} from "./admin-store.ts";
import { ChangeBrake } from "./change-brake.ts";
import { ChangeQueue } from "./change-queue.ts";
import { presetKey, putKey, replaceKey, revokeKey } from "./key-changes.ts";
import { NamespaceCensus } from "./namespace-census.ts";
import { NamespacePurge } from "./namespace-purge.ts";
import { readChanges } from "./read-changes.ts";
import type { AuditRecord, KeyRecord, NamespaceRecord, OverrideRecord, WorkspaceRecord } from "./records.ts";
import { type AuditBounds, readAuditRows } from "./sql-audit.ts";
import { lookupUnder, SqlChange } from "./sql-change.ts";
import { type RunSql, SqlFailure, type SqlLink } from "./sql-link.ts";
import { addUsageRows, deleteUsageRows, readUsageRows } from "./sql-usage.ts";
import type { BySpan, UsageQuestion, UsageRow } from "./usage-row.ts";

export interface SqlAdminOptions {
  /** What the names of the tables begin with. */
  readonly tablePrefix?: string;
  /** Whether missing tables are made at the first use; otherwise that is `sluice migrate`'s. */
  readonly mayMigrate?: boolean;
  /** Living ones of a workspace, and as many deleted ones. */
  readonly namespacesMax?: number;
  /** How long a deleted one can be restored: then it is purged, with its overrides, in a later change. */
  readonly namespacesKeepMs?: number;
  /** New ones of a workspace, per second; up to 100 at once. */
  readonly namespacesPerSecond?: number;
  /** Changes that keys of a workspace make, per second; up to 1,000 at once. */
  readonly changesPerSecond?: number;
  /** Told why a change could not be written, and null when one was written again. */
  readonly onWrite?: (failure: SqlFailure | null) => void;
  /** Changes that are older are taken out of the audit trail, a few with every tenth change. */
  readonly auditKeepMs?: number;
  /** Bytes of the audit trail of a workspace, at least 1 MiB: the oldest entries are deleted as new ones are written. */
  readonly auditBytesMax?: number;
  /** Called after a change that deleted entries before `auditKeepMs`, because of `auditBytesMax`. */
  readonly onAuditDrop?: (workspaceId: string, entries: number) => void;
}

/** For so long traffic is told from memory that a workspace is full: who asks for ever new names must not keep the database busy. */
const FULL_MS = 1_000;

/** A batch may name 100 new ones. */
const NAMESPACES_BURST = 100;
/** Enough for a script that sets up a tenant. */
const CHANGES_BURST = 1_000;

/** What tryWrite writes: an entry of the largest size that a client can cause, at a place that no change has. */
const TRIAL_BYTES = 16 * 1024;
const TRIAL_REVISION = -1;

export interface AdminLinks {
  /** What the directory reads. */
  readonly reads: SqlLink;
  /** Everything else: changes, and searches in the audit trail. */
  readonly work: SqlLink;
}

export class SqlAdminStore implements AdminStore {
  readonly #links: AdminLinks;
  readonly #queue: ChangeQueue;
  readonly #environment: Environment;
  readonly #tables: AdminTables;
  readonly #mayMigrate: boolean;
  /** That the tables are there: asked once, and again if it failed. */
  #schema: Promise<void> | null = null;
  readonly #namespacesMax: number;
  readonly #audit: AuditBounds;
  readonly #onAuditDrop: (workspaceId: string, entries: number) => void;
  readonly #onWrite: (failure: SqlFailure | null) => void;
  readonly #namespaceBrake: ChangeBrake;
  readonly #changeBrake: ChangeBrake;
  readonly #census = new NamespaceCensus();
  readonly #purge: NamespacePurge;
  /** By workspace: until when it is taken to be full. */
  readonly #fullUntilMs = new Map<string, number>();
  /** Namespaces that traffic is making, by who asked and their name: all requests that wait for one share its change. */
  readonly #making = new Map<string, Promise<NamespaceRecord>>();

  constructor(
    links: AdminLinks,
    environment: Environment,
    {
      tablePrefix,
      mayMigrate = true,
      namespacesMax = Number.POSITIVE_INFINITY,
      namespacesKeepMs = Number.POSITIVE_INFINITY,
      namespacesPerSecond = Number.POSITIVE_INFINITY,
      changesPerSecond = Number.POSITIVE_INFINITY,
      auditKeepMs = Number.POSITIVE_INFINITY,
      auditBytesMax = Number.POSITIVE_INFINITY,
      onAuditDrop = () => {},
      onWrite = () => {},
    }: SqlAdminOptions = {},
  ) {
    this.#links = links;
    this.#queue = new ChangeQueue(environment, links.work);
    this.#environment = environment;
    this.#tables = adminTables(tablePrefix);
    this.#mayMigrate = mayMigrate;
    this.#namespacesMax = namespacesMax;
    this.#purge = new NamespacePurge(this.#census, { keepMs: namespacesKeepMs, deletedMax: namespacesMax });
    this.#audit = { keepMs: auditKeepMs, bytesMax: auditBytesMax };
    this.#onAuditDrop = onAuditDrop;
    this.#onWrite = onWrite;
    const namespaces = { perSecond: namespacesPerSecond, burst: NAMESPACES_BURST, what: "new namespaces" };
    this.#namespaceBrake = new ChangeBrake(namespaces, environment.clock);
    const changes = { perSecond: changesPerSecond, burst: CHANGES_BURST, what: "changes" };
    this.#changeBrake = new ChangeBrake(changes, environment.clock);
  }

  async changesSince(revision: number): Promise<Changes | null> {
    await this.#ensureSchema();
    return this.#links.reads.ask((run) => readChanges(run, this.#tables, revision));
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

  createNamespace(
    workspaceId: string,
    name: string,
    actor: Actor,
    wanted: "traffic" | Pick<NamespaceRecord, "isShadow"> = { isShadow: false },
  ): Promise<NamespaceRecord> {
    if (wanted !== "traffic") return this.#makeNamespace(workspaceId, name, actor, wanted);
    // Of one key only: another's change must not be refused because the first key was revoked.
    const asked = JSON.stringify([typeof actor === "string" ? actor : actor.keyId, workspaceId, name]);
    let making = this.#making.get(asked);
    if (making === undefined) {
      making = this.#makeNamespace(workspaceId, name, actor, wanted).finally(() => this.#making.delete(asked));
      this.#making.set(asked, making);
    }
    return making;
  }

  async #makeNamespace(
    workspaceId: string,
    name: string,
    actor: Actor,
    wanted: "traffic" | Pick<NamespaceRecord, "isShadow">,
  ): Promise<NamespaceRecord> {
    const isTraffic = wanted === "traffic";
    if (isTraffic && this.#environment.clock.monoMs() < (this.#fullUntilMs.get(workspaceId) ?? 0)) throw this.#full();
    if (typeof actor !== "string") {
      this.#namespaceBrake.take(workspaceId);
      await actor.charge?.();
    }
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
        await this.#checkRoom(change, before.workspaceId);
      }
      if (before.deletedAtMs === null && deletedAtMs !== null) await this.#purge.makeRoom(change, before.workspaceId);
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
    return this.#change(actor, (change) => replaceKey(change, id, successor, untilMs));
  }

  deleteKey(id: string, actor: Actor): Promise<boolean> {
    return this.#change(actor, (change) => revokeKey(change, id));
  }

  presetKey(key: KeyRecord, actor: Actor): Promise<void> {
    return this.#change(actor, (change) => presetKey(change, key));
  }

  async readAudit(workspaceId: string, question: AuditQuestion): Promise<readonly AuditRecord[]> {
    await this.#ensureSchema();
    const read = (run: RunSql) => readAuditRows(run, this.#tables, workspaceId, question);
    return this.#queue.run(workspaceId, () => this.#links.work.ask(read));
  }

  async addUsage(rows: readonly UsageRow[]): Promise<void> {
    const { work } = this.#links;
    await this.#ensureSchema();
    await this.#queue.run(null, () => work.ask((run) => addUsageRows(run, this.#tables, work.dialect, rows)));
  }

  async deleteUsage(keptFromMs: BySpan): Promise<number> {
    await this.#ensureSchema();
    return this.#queue.run(null, () => this.#links.work.ask((run) => deleteUsageRows(run, this.#tables, keptFromMs)));
  }

  async readUsage(workspaceId: string, question: UsageQuestion): Promise<readonly UsageRow[]> {
    await this.#ensureSchema();
    const read = (run: RunSql) => readUsageRows(run, this.#tables, question);
    return this.#queue.run(workspaceId, () => this.#links.work.ask(read));
  }

  /** Never rejects because of the database. */
  async tryWrite(): Promise<void> {
    const { audit, revision } = this.#tables;
    try {
      await this.#ensureSchema();
      await this.#queue.run(null, () =>
        this.#links.work.transaction(async (run) => {
          await run(`SELECT revision FROM ${revision} WHERE id = 1${this.#links.work.dialect.forUpdate}`);
          const insert = `INSERT INTO ${audit} (revision, workspace_id, at_ms, entry) VALUES (?, ?, ?, ?)`;
          await run(insert, TRIAL_REVISION, "", 0, " ".repeat(TRIAL_BYTES));
          await run(`DELETE FROM ${audit} WHERE revision = ?`, TRIAL_REVISION);
        }),
      );
      this.#onWrite(null);
    } catch (error) {
      if (!(error instanceof AdminStoreAway)) throw error;
      if (error instanceof SqlFailure) this.#onWrite(error);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#links.reads.close(), this.#links.work.close()]);
  }

  async #checkRoom(change: SqlChange, workspaceId: string): Promise<void> {
    if (this.#namespacesMax === Number.POSITIVE_INFINITY) return;
    await this.#census.read(change);
    if (this.#census.livingIn(workspaceId) < this.#namespacesMax) return;
    this.#fullUntilMs.set(workspaceId, this.#environment.clock.monoMs() + FULL_MS);
    throw this.#full();
  }

  #full(): NamespaceLimitReached {
    return new NamespaceLimitReached(`the workspace has ${this.#namespacesMax} namespaces, which is the maximum`);
  }

  async #change<T>(actor: Actor, work: (change: SqlChange) => Promise<T>): Promise<T> {
    await this.#ensureSchema();
    const begin = { actor, nowMs: this.#environment.clock.wallMs, audit: this.#audit };
    const workspaceId = typeof actor === "string" ? null : actor.workspaceId;
    if (workspaceId !== null) this.#changeBrake.take(workspaceId);
    try {
      let dropped: ReadonlyMap<string, number> = new Map();
      const done = await this.#queue.run(workspaceId, () =>
        SqlChange.make(this.#links.work, this.#tables, begin, async (change) => {
          await this.#purge.stepOnce(change);
          const made = await work(change);
          dropped = change.dropped;
          return made;
        }),
      );
      this.#onWrite(null);
      for (const [id, entries] of dropped) this.#onAuditDrop(id, entries);
      return done;
    } catch (error) {
      if (error instanceof AdminStoreAway) this.#census.forget();
      if (error instanceof SqlFailure) this.#onWrite(error);
      throw error;
    }
  }

  #ensureSchema(): Promise<void> {
    if (this.#schema === null) {
      const nowMs = this.#environment.clock.wallMs();
      const asked = ensureAdminSchema(this.#links.reads, this.#tables, { mayMigrate: this.#mayMigrate, nowMs });
      this.#schema = asked;
      asked.catch(() => {
        this.#schema = null;
      });
    }
    return this.#schema;
  }
}

function lastOf(deleted: readonly NamespaceRecord[]): NamespaceRecord | undefined {
  return deleted.toSorted((a, b) => b.deletedAtMs! - a.deletedAtMs!)[0];
}

/** Of an id, which holds no blank, and a text: no two pairs make the same. */
function lookupOf(id: string, text: string): string {
  return hash("sha256", JSON.stringify([id, text]), "hex");
}
