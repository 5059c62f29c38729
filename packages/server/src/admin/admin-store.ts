/**
 * The port to where workspaces, namespaces, overrides and keys live: one SQL store for all servers.
 *
 * Every change is one transaction that raises the store's revision, stamps the changed rows with it, and writes its line of the
 * audit trail. So a server learns what changed by one cheap question, and nothing is changed without a trace.
 */
import type { AuditRecord, KeyRecord, NamespaceRecord, OverrideRecord, WorkspaceRecord } from "./records.ts";
import type { BySpan, UsageQuestion, UsageRow } from "./usage-row.ts";

/** What changed after a revision, in the order of the changes: an override that was deleted and set again comes deleted first. */
export interface Changes {
  readonly revision: number;
  /** This is everything that there is, and what is not in it is gone. */
  readonly isWhole: boolean;
  /** Rows that could not be read and were skipped: their kinds and ids. */
  readonly corrupt: readonly string[];
  readonly workspaces: readonly WorkspaceRecord[];
  /** `isDeleted`: purged. One that can be restored has its time of deletion instead. */
  readonly namespaces: readonly (NamespaceRecord & Deletable)[];
  readonly overrides: readonly (OverrideRecord & Deletable)[];
  readonly keys: readonly (KeyRecord & Deletable)[];
}

/** What is gone is told of once. */
export interface Deletable {
  readonly isDeleted: boolean;
}

/** Which part of an audit trail. */
export interface AuditQuestion {
  readonly limit: number;
  /** Those before this cursor. */
  readonly before?: string;
  /** Those from this moment on, and before that one: wall clock of whoever made them. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
}

/** Who makes a change: a command or the server itself, as the trail names it (`cli:<user>`), or a key. */
export type Actor = string | KeyActor;

/** A key that asks for a change. The trail names it `key:key_…`. */
export interface KeyActor {
  readonly keyId: string;
  readonly workspaceId: string;
  /**
   * Called inside the transaction of the change, with the key and the workspace as they are stored at that moment: the key may have been
   * revoked while the change waited. Throws if the key may not make the change; then nothing is changed.
   */
  check(key: KeyRecord | null, workspace: WorkspaceRecord | null, nowMs: number): void;
  /** Called before a new namespace is asked for, once for all requests that share its change. Throws if the workspace cannot pay. */
  charge?(): Promise<void>;
}

export interface AdminStore {
  /** What changed after this revision; null if nothing did. 0 asks for everything. */
  changesSince(revision: number): Promise<Changes | null>;

  /** Makes a workspace, with a first key if there is one; false if there is that workspace, and nothing is changed. */
  createWorkspace(workspace: WorkspaceRecord, key: KeyRecord | null, actor: Actor): Promise<boolean>;
  /** Saves a workspace, by its id. */
  saveWorkspace(workspace: WorkspaceRecord, actor: Actor): Promise<void>;

  /**
   * Makes a namespace. An administrator, who says what it shall be, is refused with NameTaken where a living one has the name. Traffic
   * gets the living one, so that two servers that create it at once get the same; a name whose last namespace was deleted makes no new
   * one, also where the asking server has not heard of it yet: it gets the deleted one. Rejects with NamespaceLimitReached where the
   * workspace has as many as it may.
   */
  createNamespace(
    workspaceId: string,
    name: string,
    actor: Actor,
    wanted?: "traffic" | Pick<NamespaceRecord, "isShadow">,
  ): Promise<NamespaceRecord>;
  /**
   * Saves the flags of a namespace, those that are given: two servers that change different ones do not undo each other's. Null if
   * there is no such namespace; rejects with NameTaken where a restored name is in use again, and with NamespaceLimitReached where the
   * workspace has as many as it may.
   */
  saveNamespace(flags: NamespaceFlags, action: string, actor: Actor): Promise<NamespaceRecord | null>;

  /** Sets the override of that namespace and identifier; the id of the one that is there stays. */
  setOverride(override: Omit<OverrideRecord, "id" | "updatedAtMs">, actor: Actor): Promise<OverrideRecord>;
  /** False if there was none. */
  deleteOverride(namespaceId: string, identifier: string, actor: Actor): Promise<boolean>;

  /** Saves a key, by its id. Its workspace, hash and birth stay what they were. */
  saveKey(key: KeyRecord, action: string, actor: Actor): Promise<void>;
  /** Makes a key and ends another: at once, or at `untilMs`. False if there is no such other. */
  replaceKey(id: string, successor: KeyRecord, untilMs: number | null, actor: Actor): Promise<boolean>;
  /** False if there was none. */
  deleteKey(id: string, actor: Actor): Promise<boolean>;
  /**
   * Makes this the one preset key of its workspace: any other is disabled. Changes nothing if it is. A key that was made with this token
   * stays what it is; rejects with KeyNotRoot if that is less than the preset one would be.
   */
  presetKey(key: KeyRecord, actor: Actor): Promise<void>;

  /** The newest first. */
  readAudit(workspaceId: string, question: AuditQuestion): Promise<readonly AuditRecord[]>;

  /**
   * Adds to the history of use, in one step; waits for its turn, and is never refused for what clients do. A rejection means that the rows were
   * not added, or that it is not known: do not add them again.
   */
  addUsage(rows: readonly UsageRow[]): Promise<void>;
  /** Deletes rows from before these moments, a bounded number of them. Resolves with that number: 0 if none are left. */
  deleteUsage(keptFromMs: BySpan): Promise<number>;
  /** A part of the history of use, the oldest first. */
  readUsage(workspaceId: string, question: UsageQuestion): Promise<readonly UsageRow[]>;

  /** Tries to write as much as a large change does, and takes it back: whoever watches the writes is told whether it could be written. */
  tryWrite(): Promise<void>;

  close(): Promise<void>;
}

export type NamespaceFlags = Pick<NamespaceRecord, "id"> & Partial<Pick<NamespaceRecord, "isShadow" | "deletedAtMs">>;

/** The name of a namespace, or the token of a key, is in use by another living one. */
export class NameTaken extends Error {
  override readonly name = "NameTaken";
}

/** The workspace has as many namespaces as it may have. */
export class NamespaceLimitReached extends Error {
  override readonly name = "NamespaceLimitReached";
}

/** The token that shall be preset is that of a key which may do less. */
export class KeyNotRoot extends Error {
  override readonly name = "KeyNotRoot";
}

/** Too much work waits for the store: nothing was changed. Try again. */
export class TooManyChanges extends Error {
  override readonly name = "TooManyChanges";
}

/** The store is away or refuses: nothing was changed, or it is not known. Try again. */
export class AdminStoreAway extends Error {
  override readonly name = "AdminStoreAway";
}
