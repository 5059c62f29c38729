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
  /** How old the directory was when the store was last found away. */
  #ageNotedMs = Number.POSITIVE_INFINITY;
  #isClosed = false;

  /** Opens no connection yet. */
  static async open(settings: ServerSettings, log: Log): Promise<Admin> {
    const { sqlUrl, sqlTls, dataDir, rootKey, namespacesMax, auditKeepMs } = settings;
    const place = { sqlUrl, dataDir, tls: sqlTls };
    return new Admin(await openAdminStore(place, SYSTEM, { namespacesMax, auditKeepMs }), rootKey, log);
  }

  private constructor(store: AdminStore, rootKey: string | null, log: Log) {
    this.store = store;
    this.directory = new MemoryDirectory(this.store, SYSTEM, (error) => this.#noteAway(error));
    this.#rootKey = rootKey;
    this.#log = log;
  }

  /** The key if it was made now. Waits for a store that is away; rejects when closed meanwhile. */
  async ensureRootKey(): Promise<string | null> {
    for (;;) {
      try {
        return (await bootstrap(this.store, this.#rootKey, SYSTEM)).createdToken;
      } catch (error) {
        if (!(error instanceof AdminStoreAway) || this.#isClosed) throw error;
        this.#noteAway(error);
      }
      await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.directory.close();
    await this.store.close();
  }

  /** Once for each time that it goes, not twice a second: it has been back if the directory is younger than it was. */
  #noteAway(error: unknown): void {
    const { ageMs } = this.directory;
    if (ageMs < this.#ageNotedMs) this.#log.warn("admin-store.away", { reason: (error as Error).message });
    this.#ageNotedMs = ageMs;
  }
}
