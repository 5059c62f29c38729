/**
 * How many living namespaces each workspace has, as the transaction that asks sees it.
 *
 * Kept in memory by their ids; a question reads only what changed since the last one. To count them in SQL took 54 ms at 10,000 of them, even
 * for a creation that was refused.
 *
 * Invariant: it holds committed records only. A transaction asks before it writes, so one that is undone leaves nothing behind.
 */
import type { SqlChange } from "./sql-change.ts";

export class LivingNamespaces {
  #revision = 0;
  /** Ids, by workspace. */
  readonly #living = new Map<string, Set<string>>();

  async countOf(change: SqlChange, workspaceId: string): Promise<number> {
    // An older backup was restored.
    if (change.revision < this.#revision) this.forget();
    for (const { id, workspaceId: owner, deletedAtMs } of await change.since("namespace", this.#revision)) {
      const ids = this.#living.get(owner) ?? new Set<string>();
      if (deletedAtMs === null) ids.add(id);
      else ids.delete(id);
      this.#living.set(owner, ids);
    }
    this.#revision = change.revision;
    return this.#living.get(workspaceId)?.size ?? 0;
  }

  /** After a failure: what answers next may be another database. */
  forget(): void {
    this.#revision = 0;
    this.#living.clear();
  }
}
