/**
 * Takes deleted namespaces out of the store for good: when they can no longer be restored, and when a workspace has too many of them.
 *
 * It works inside the changes that are made anyway, in bounded steps: a few namespaces with some changes, and a part of all overrides, of
 * which those without a namespace are deleted. A namespace that is purged has an entry in the audit trail; its overrides have none, because
 * one request may have deleted 20,000 of them.
 *
 * Invariant: a step purges no more than NAMESPACES_MAX namespaces and OVERRIDES_MAX overrides, and no deletion of a namespace leaves its
 * workspace with more than `deletedMax` deleted ones.
 */
import type { NamespaceCensus, Purgeable } from "./namespace-census.ts";
import type { SqlChange, Write } from "./sql-change.ts";
import type { Kind, Records } from "./stored-record.ts";

/** Revisions between two steps. A purge makes revisions as well, so while there is much to purge every change makes a step. */
const STEP_EVERY = 10;
/** What a step purges at most. Faster than a client can make them: each takes it two changes, or one. */
const NAMESPACES_MAX = 10;
const OVERRIDES_MAX = 20;
/** Overrides that a step looks at. */
const OVERRIDES_LOOKED_AT = 100;
const ACTOR = "server";

export interface PurgeOptions {
  /** How long a deleted namespace can be restored; Infinity: for ever. */
  readonly keepMs: number;
  /** Deleted namespaces that a workspace has at most; Infinity: any number. */
  readonly deletedMax: number;
}

export class NamespacePurge {
  readonly #census: NamespaceCensus;
  readonly #options: PurgeOptions;
  /** The revision at which the last step was made. */
  #steppedAt = Number.NEGATIVE_INFINITY;
  /** The last override that was looked at. */
  #lastOverride = "";

  constructor(census: NamespaceCensus, options: PurgeOptions) {
    this.#census = census;
    this.#options = options;
  }

  /** Before the change writes anything else: the census must see committed records only. */
  async stepOnce(change: SqlChange): Promise<void> {
    const { keepMs, deletedMax } = this.#options;
    if (keepMs === Number.POSITIVE_INFINITY && deletedMax === Number.POSITIVE_INFINITY) return;
    // It goes back if an older backup was restored.
    if (Math.abs(change.revision - this.#steppedAt) < STEP_EVERY) return;
    this.#steppedAt = change.revision;
    await this.#census.read(change);
    const untilMs = change.atMs - keepMs;
    for (const deleted of this.#census.deletedBefore(untilMs, NAMESPACES_MAX))
      await this.#purge(change, deleted, untilMs);
    await this.#purgeOverrides(change);
  }

  /** Before another namespace of this workspace is deleted. */
  async makeRoom(change: SqlChange, workspaceId: string): Promise<void> {
    const { deletedMax } = this.#options;
    if (deletedMax === Number.POSITIVE_INFINITY) return;
    await this.#census.read(change);
    const tooMany = this.#census.deletedIn(workspaceId) + 1 - deletedMax;
    const oldest = this.#census.firstDeleted(workspaceId, Math.max(0, Math.min(tooMany, NAMESPACES_MAX)));
    for (const deleted of oldest) await this.#purge(change, deleted, Number.POSITIVE_INFINITY);
  }

  /**
   * The stored record decides, and not the census: after a restored backup or a failover that lost changes, a namespace that was known as
   * deleted may live again, or have been deleted later.
   */
  async #purge(change: SqlChange, namespace: Purgeable, untilMs: number): Promise<void> {
    const before = await change.byId("namespace", namespace.id);
    if (before === null) {
      this.#census.drop(change, namespace);
      return;
    }
    if (before.deletedAtMs === null || before.deletedAtMs >= untilMs) {
      this.#census.forget();
      return;
    }
    await change.write({ ...gone("namespace", before), action: "namespace.purge", actor: ACTOR });
  }

  async #purgeOverrides(change: SqlChange): Promise<void> {
    const { records, lastId } = await change.page("override", this.#lastOverride, OVERRIDES_LOOKED_AT);
    const known = await change.present(
      "namespace",
      records.map(({ namespaceId }) => namespaceId),
    );
    const orphans = records.filter(({ namespaceId }) => !known.has(namespaceId));
    for (const override of orphans.slice(0, OVERRIDES_MAX))
      await change.write({ ...gone("override", override), action: null });
    // The same page again while it has more of them.
    if (orphans.length <= OVERRIDES_MAX) this.#lastOverride = lastId ?? "";
  }
}

function gone<K extends Kind>(kind: K, record: Records[K]): Omit<Write<K>, "action"> {
  return { kind, before: record, after: record, lookup: null, isDeleted: true };
}
