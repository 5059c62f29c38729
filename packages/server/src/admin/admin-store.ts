/**
 * The port to where workspaces, namespaces, overrides and keys live: one SQL store for all servers.
 *
 * Every change is one transaction that raises the store's revision, stamps the changed rows with it, and writes its line of the
 * audit trail. So a server learns what changed by one cheap question, and nothing is changed without a trace.
 */
import type { AuditRecord, KeyRecord, NamespaceRecord, OverrideRecord, WorkspaceRecord } from "./records.ts";

/** What changed after a revision. */
export interface Changes {
  readonly revision: number;
  readonly workspaces: readonly WorkspaceRecord[];
  readonly namespaces: readonly NamespaceRecord[];
  /** A deleted override comes with `isDeleted`. */
  readonly overrides: readonly (OverrideRecord & { readonly isDeleted: boolean })[];
  readonly keys: readonly (KeyRecord & { readonly isDeleted: boolean })[];
}

/** Who makes a change: `key:key_…` or `cli:<user>`. */
export type Actor = string;

export interface AdminStore {
  /** What changed after this revision; null if nothing did. 0 asks for everything. */
  changesSince(revision: number): Promise<Changes | null>;

  /** Saves a workspace, by its id. */
  saveWorkspace(workspace: WorkspaceRecord, actor: Actor): Promise<void>;

  /** The living namespace of that name, made if there is none: two servers that create it at once get the same one. */
  createNamespace(workspaceId: string, name: string, actor: Actor): Promise<NamespaceRecord>;
  /** Saves the flags of a namespace. Rejects with NameTaken where a restored name is in use again. */
  saveNamespace(namespace: NamespaceRecord, action: string, actor: Actor): Promise<void>;

  /** Sets the override of that namespace and identifier; the id of the one that is there stays. */
  setOverride(override: Omit<OverrideRecord, "id" | "updatedAtMs">, actor: Actor): Promise<OverrideRecord>;
  /** False if there was none. */
  deleteOverride(namespaceId: string, identifier: string, actor: Actor): Promise<boolean>;

  /** Saves a key, by its id. */
  saveKey(key: KeyRecord, action: string, actor: Actor): Promise<void>;

  /** The newest first; those before `beforeMs` if given. */
  readAudit(workspaceId: string, options: { limit: number; before?: string }): Promise<readonly AuditRecord[]>;

  close(): Promise<void>;
}

/** The name of a namespace is in use by another living one. */
export class NameTaken extends Error {
  override readonly name = "NameTaken";
}

/** The store is away or refuses: nothing was changed, or it is not known. Try again. */
export class AdminStoreAway extends Error {
  override readonly name = "AdminStoreAway";
}
