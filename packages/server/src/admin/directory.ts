/**
 * What the store holds, in memory: every request is answered from here, and none waits for SQL.
 *
 * A loop asks the store about twice a second what changed; whoever makes a change on this server asks at once. While the store is
 * away, the last known state stands.
 */
import type { KeyRecord, NamespaceRecord, OverrideRecord, WorkspaceRecord } from "./records.ts";

export interface OverrideUse {
  /** One whose text is longer than 128 UTF-16 units counts as several (pattern.ts). */
  readonly overrides: number;
  /** In the patterns among them. */
  readonly stars: number;
}

export interface Directory {
  /** The key of this token; undefined if there is none or it has expired. Takes the same time for all. */
  keyOf(token: string): KeyRecord | undefined;
  keyById(id: string): KeyRecord | undefined;
  workspaceOf(id: string): WorkspaceRecord | undefined;
  /** The one with this id, else the living one of this name, else the last deleted one of this name. Never one of another workspace. */
  namespaceOf(workspaceId: string, idOrName: string): NamespaceRecord | undefined;
  /** All of a workspace, by name, deleted ones included. */
  namespacesOf(workspaceId: string): readonly NamespaceRecord[];
  /** The override that applies to this identifier: the exact one, else the most specific pattern. */
  overrideFor(namespaceId: string, identifier: string): OverrideRecord | undefined;
  /** The override that was set with exactly this identifier or pattern. */
  overrideOf(namespaceId: string, identifier: string): OverrideRecord | undefined;
  /** All of a namespace, ordered by identifier. */
  overridesOf(namespaceId: string): readonly OverrideRecord[];
  /** How many overrides a namespace or a workspace has, of deleted namespaces too. */
  overrideUseOf(namespaceOrWorkspaceId: string): OverrideUse;
  /** All of a workspace. */
  keysOf(workspaceId: string): readonly KeyRecord[];
  /** Asks the store now. Resolves when what it answered is in place; rejects with AdminStoreAway. */
  refresh(): Promise<void>;
  /** False until the store was read once. */
  readonly isLoaded: boolean;
  /** Whether anybody can be let in. */
  readonly hasKeys: boolean;
  /** Records that could not be read and are missing here: their kinds and ids. */
  readonly corrupt: readonly string[];
  /** Since the store last answered. */
  readonly ageMs: number;
}
