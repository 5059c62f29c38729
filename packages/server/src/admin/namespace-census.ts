/**
 * The living and the deleted namespaces of each workspace, as the transaction that asks sees them.
 *
 * Kept in memory by their ids; a question reads only what changed since the last one. To count them in SQL took 54 ms at 10,000 of them, even
 * for a creation that was refused.
 *
 * Invariant: it holds committed records only. A transaction asks before it writes, so one that is undone leaves nothing behind. What it has
 * purged since then is still in here.
 */
import type { SqlChange } from "./sql-change.ts";

interface Namespaces {
  readonly living: Set<string>;
  /** When they were deleted, by id, in the order of their last changes. */
  readonly deleted: Map<string, number>;
}

/** A deleted namespace that is to be purged. */
export interface Purgeable {
  readonly id: string;
  readonly workspaceId: string;
}

export class NamespaceCensus {
  #revision = 0;
  readonly #workspaces = new Map<string, Namespaces>();

  /** Learns what was committed. A transaction that has written has called it before: namespace-purge.ts does before it writes. */
  async read(change: SqlChange): Promise<void> {
    if (change.hasWritten) return;
    // An older backup was restored, or records that were purged since then have left no trace.
    if (change.revision < this.#revision || this.#revision < change.tracesFrom) this.forget();
    for (const { record, isPurged } of await change.since("namespace", this.#revision)) {
      const { living, deleted } = this.#of(record.workspaceId);
      living.delete(record.id);
      deleted.delete(record.id);
      if (isPurged) continue;
      if (record.deletedAtMs === null) living.add(record.id);
      else deleted.set(record.id, record.deletedAtMs);
    }
    this.#revision = change.revision;
  }

  livingIn(workspaceId: string): number {
    return this.#workspaces.get(workspaceId)?.living.size ?? 0;
  }

  deletedIn(workspaceId: string): number {
    return this.#workspaces.get(workspaceId)?.deleted.size ?? 0;
  }

  /** The first that were deleted in a workspace. */
  firstDeleted(workspaceId: string, count: number): readonly Purgeable[] {
    const ids = this.#workspaces.get(workspaceId)?.deleted.keys() ?? [];
    return [...firstOf(ids, count)].map((id) => ({ id, workspaceId }));
  }

  /** Some that were deleted before a time, in any workspace. */
  deletedBefore(timeMs: number, count: number): readonly Purgeable[] {
    const found: Purgeable[] = [];
    for (const [workspaceId, { deleted }] of this.#workspaces) {
      for (const [id, deletedAtMs] of deleted) {
        if (found.length >= count) return found;
        if (deletedAtMs >= timeMs) break;
        found.push({ id, workspaceId });
      }
    }
    return found;
  }

  /** One that the store does not have: its purge was missed, unless this transaction has made it. */
  drop(change: SqlChange, { id, workspaceId }: Purgeable): void {
    if (change.hasWritten) return;
    this.#workspaces.get(workspaceId)?.deleted.delete(id);
  }

  /** After a failure: what answers next may be another database. */
  forget(): void {
    this.#revision = 0;
    this.#workspaces.clear();
  }

  #of(workspaceId: string): Namespaces {
    const known = this.#workspaces.get(workspaceId) ?? {
      living: new Set<string>(),
      deleted: new Map<string, number>(),
    };
    this.#workspaces.set(workspaceId, known);
    return known;
  }
}

function* firstOf<T>(items: Iterable<T>, count: number): Iterable<T> {
  let left = count;
  for (const item of items) {
    if (left-- <= 0) return;
    yield item;
  }
}
