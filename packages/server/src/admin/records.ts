/**
 * What an administrator makes and changes: workspaces, namespaces, overrides, keys, and the trail of who did it.
 *
 * Records are values: a change makes a new one. Deleted namespaces stay, so that they can be restored and so that asking for one
 * is answered by "gone" and not by a new namespace.
 */

/** A tenant. It comes from the key of a request, and scopes everything. */
export interface WorkspaceRecord {
  /** `ws_…`; of the first one `default`. */
  readonly id: string;
  readonly name: string;
  readonly isDisabled: boolean;
  /** How many requests a window its keys may make together; null: the server's default. */
  readonly quota: { readonly limit: number; readonly durationMs: number } | null;
}

export interface NamespaceRecord {
  /** `rlns_…`; the name under which the limiter counts, so that a name that is used again starts from zero. */
  readonly id: string;
  readonly workspaceId: string;
  /** 1 to 512 characters; one living namespace of a workspace has it. */
  readonly name: string;
  /** Counts and reports, and never denies. */
  readonly isShadow: boolean;
  readonly createdAtMs: number;
  /** Null while it lives. */
  readonly deletedAtMs: number | null;
}

export interface OverrideRecord {
  /** `rlor_…`; stays when the override is set again. */
  readonly id: string;
  readonly workspaceId: string;
  readonly namespaceId: string;
  /** The identifier, or a pattern: `*` is any run of characters, everything else is literal. */
  readonly identifier: string;
  /** 0 is a ban. */
  readonly limit: number;
  readonly durationMs: number;
  readonly isShadow: boolean;
  readonly updatedAtMs: number;
}

export interface KeyRecord {
  /** `key_…`. */
  readonly id: string;
  readonly workspaceId: string;
  /** For people; may be empty. */
  readonly name: string;
  /** SHA-256 of the whole token, hexadecimal. The token itself is shown once and kept nowhere. */
  readonly hash: string;
  /** The first characters of the token: enough to recognise it, not to guess it. */
  readonly start: string;
  /** Such as `ratelimit.*.limit` or `ratelimit.rlns_….set_override`; `*` is everything. */
  readonly permissions: readonly string[];
  readonly isDisabled: boolean;
  readonly createdAtMs: number;
  /** Null: never. */
  readonly expiresAtMs: number | null;
}

/** One administrative change: who, what, before, after. */
export interface AuditRecord {
  /** Its place in the trail: ask for what was before it. */
  readonly cursor: string;
  readonly atMs: number;
  readonly workspaceId: string;
  /** `key:key_…` or `cli:<user>`. */
  readonly actor: string;
  /** Such as `override.set`, `namespace.delete`, `key.create`. */
  readonly action: string;
  /** The id of the changed record. */
  readonly subject: string;
  /** The records, without hashes; null where there was or is none. */
  readonly before: object | null;
  readonly after: object | null;
}
