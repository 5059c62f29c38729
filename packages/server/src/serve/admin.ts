/** The admin store of a server, with its directory: in the shared database, or alone in a file of the data folder. */
import { type AdminStore, AdminStoreAway } from "../admin/admin-store.ts";
import { bootstrap } from "../admin/bootstrap.ts";
import { MemoryDirectory } from "../admin/memory-directory.ts";
import { openAdminStore } from "../admin/open-admin-store.ts";
import type { SqlFailure } from "../admin/sql-link.ts";
import type { ServerSettings } from "../config/settings.ts";
import type { Log } from "../log/log.ts";
import { SYSTEM } from "../system/system.ts";
import { AuditDrops } from "./audit-drops.ts";
import { WriteWatch } from "./write-watch.ts";

const TRY_AGAIN_MS = 500;
/** What traffic really needs comes in bursts at a start, and those may be larger. */
const NAMESPACES_PER_SECOND = 50;
/** Of each workspace. A row of the audit trail that a client causes has at most some 13 KB, so this is 1.3 MB per second. */
const CHANGES_PER_SECOND = 100;

export class Admin {
  readonly store: AdminStore;
  readonly directory: MemoryDirectory;
  readonly #rootKey: string | null;
  readonly #log: Log;
  /** On the monotonic clock; null while the store answers. */
  #awaySinceMs: number | null = null;
  #isClosed = false;
  /** A trial write is under way. */
  #isTrying = false;
  readonly #writes: WriteWatch;
  /** Corrupt records that the log has named. */
  #named: readonly string[] = [];

  /** Opens no connection yet. */
  static async open(
    settings: ServerSettings,
    log: Log,
    onAuditDrop: (entries: number) => void = () => {},
  ): Promise<Admin> {
    const { sqlUrl, sqlTls, dataDir, rootKey, namespacesMax, namespacesKeepMs, auditKeepMs, auditBytesMax } = settings;
    const place = { sqlUrl, dataDir, tls: sqlTls };
    const writes = new WriteWatch(log, SYSTEM.clock);
    const drops = new AuditDrops(log, SYSTEM.clock, onAuditDrop);
    const options = {
      namespacesMax,
      namespacesKeepMs,
      namespacesPerSecond: NAMESPACES_PER_SECOND,
      changesPerSecond: CHANGES_PER_SECOND,
      auditKeepMs,
      auditBytesMax,
      onAuditDrop: (workspaceId: string, entries: number) => drops.note(workspaceId, entries),
      onWrite: (failure: SqlFailure | null) => writes.note(failure),
    };
    return new Admin(await openAdminStore(place, SYSTEM, options), rootKey, log, writes);
  }

  private constructor(store: AdminStore, rootKey: string | null, log: Log, writes: WriteWatch) {
    this.store = store;
    this.#writes = writes;
    this.directory = new MemoryDirectory(
      this.store,
      SYSTEM,
      (error) => this.#noteAway(error),
      () => this.#noteAnswer(),
    );
    this.#rootKey = rootKey;
    this.#log = log;
  }

  /** The key if it was made now. Waits for a store that is away; rejects when closed meanwhile. */
  async ensureRootKey(): Promise<string | null> {
    for (let isFirst = true; ; isFirst = false) {
      try {
        return (await bootstrap(this.store, this.#rootKey, SYSTEM)).createdToken;
      } catch (error) {
        if (!(error instanceof AdminStoreAway) || this.#isClosed) throw error;
        // Once: a store may answer the directory, and yet take no key.
        if (isFirst) this.#noteAway(error);
      }
      await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
    }
  }

  /** Why the last write failed; null if it did not. */
  get writeFailure(): string | null {
    return this.#writes.failure;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.directory.close();
    await this.store.close();
  }

  /** Once for each time that it goes, not twice a second. */
  #noteAway(error: unknown): void {
    if (this.#awaySinceMs !== null) return;
    this.#awaySinceMs = SYSTEM.clock.monoMs();
    this.#log.warn("admin-store.away", { reason: (error as Error).message });
  }

  #noteAnswer(): void {
    this.#noteBack();
    this.#tryWriteOnce();
    const { corrupt } = this.directory;
    for (const record of corrupt) {
      if (!this.#named.includes(record)) this.#log.error("admin-store.corrupt", { record });
    }
    this.#named = corrupt;
  }

  /** Without it, a failed write would be reported until somebody makes a change. */
  #tryWriteOnce(): void {
    if (this.#isTrying || this.#isClosed || !this.#writes.isTrialDue) return;
    this.#isTrying = true;
    const end = () => {
      this.#isTrying = false;
    };
    // What it rejects with is a schema that cannot be used, which the reads of the directory report.
    void this.store.tryWrite().then(end, end);
  }

  #noteBack(): void {
    if (this.#awaySinceMs === null) return;
    this.#log.info("admin-store.back", { awayMs: Math.round(SYSTEM.clock.monoMs() - this.#awaySinceMs) });
    this.#awaySinceMs = null;
  }
}
