/** The admin store of a server, with its directory: in the shared database, or alone in a file of the data folder. */
import { type AdminStore, AdminStoreAway } from "../admin/admin-store.ts";
import { bootstrap } from "../admin/bootstrap.ts";
import { MemoryDirectory } from "../admin/memory-directory.ts";
import { openAdminStore } from "../admin/open-admin-store.ts";
import type { ServerSettings } from "../config/settings.ts";
import { SYSTEM } from "../system.ts";
import type { Log } from "./log.ts";

const TRY_AGAIN_MS = 500;

export class Admin {
  readonly store: AdminStore;
  readonly directory: MemoryDirectory;
  readonly #rootKey: string | null;
  readonly #log: Log;
  /** On the monotonic clock; null while the store answers. */
  #awaySinceMs: number | null = null;
  #isClosed = false;

  /** Opens no connection yet. */
  static async open(settings: ServerSettings, log: Log): Promise<Admin> {
    const { sqlUrl, sqlTls, dataDir, rootKey, namespacesMax, auditKeepMs } = settings;
    const place = { sqlUrl, dataDir, tls: sqlTls };
    return new Admin(await openAdminStore(place, SYSTEM, { namespacesMax, auditKeepMs }), rootKey, log);
  }

  private constructor(store: AdminStore, rootKey: string | null, log: Log) {
    this.store = store;
    this.directory = new MemoryDirectory(
      this.store,
      SYSTEM,
      (error) => this.#noteAway(error),
      () => this.#noteBack(),
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

  #noteBack(): void {
    if (this.#awaySinceMs === null) return;
    this.#log.info("admin-store.back", { awayMs: Math.round(SYSTEM.clock.monoMs() - this.#awaySinceMs) });
    this.#awaySinceMs = null;
  }
}
