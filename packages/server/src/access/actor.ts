/** One call of the API, as a route's handler sees it: who asks, and what answers. */

import { isNamespaceIdForm } from "../admin/admin-id.ts";
import type { AdminStore, KeyActor } from "../admin/admin-store.ts";
import type { Directory } from "../admin/directory.ts";
import type { NamespaceRecord } from "../admin/records.ts";
import { Problem } from "../contract/problem.ts";
import { type Caller, usable } from "./caller.ts";
import { type Action, lacking, may } from "./permission.ts";
import type { Charge } from "./quota.ts";
import type { CheckedLimit } from "../http/rate-headers.ts";
import type { Turnstile } from "../http/turnstile.ts";

export interface Answer {
  readonly data: unknown;
  readonly pagination?: { readonly hasMore: boolean; readonly cursor?: string };
  /** The limit that the answer's headers tell about. */
  readonly checked?: CheckedLimit;
}

/** What the handlers of administrative routes work on. */
export interface AdminParts {
  readonly directory: Directory;
  readonly store: AdminStore;
  /** For work that costs more than the request's one unit; asked before the work is done. */
  readonly quota: Charge;
  /** Reads of the audit trail, and rankings: one at a time. */
  readonly turnstiles: { readonly audit: Turnstile; readonly rankings: Turnstile };
}

/** The caller as one who changes something: checked again inside the transaction, by the same rules as the request was. */
export function actorOf({ key, workspace }: Caller, action: Action, namespaceId?: string): KeyActor {
  return {
    keyId: key.id,
    workspaceId: workspace.id,
    check: (keyNow, workspaceNow, nowMs) => {
      const caller = usable(keyNow ?? undefined, workspaceNow ?? undefined, nowMs);
      if (!may(caller.key, action, namespaceId)) throw lacking(action);
    },
  };
}

/** What a new namespace costs of the quota: it takes as much time as some hundred requests, and memory on every server. */
const NAMESPACE_COST = 10;

export function creatorOf(quota: Charge, caller: Caller): KeyActor {
  // Like a read, at most the whole quota: a small one must not make namespaces impossible.
  const charge = () => quota.chargeRead(caller.workspace, NAMESPACE_COST);
  return { ...actorOf(caller, "create_namespace"), charge };
}

/** A text that is stored or counted: no half of a surrogate pair, which no store could keep. */
export function checkWellFormed(location: string, text: string): void {
  if (!text.isWellFormed()) throw Problem.at(location, "must be well-formed Unicode; got half of a surrogate pair");
}

/** The name of a namespace that does not exist yet. An id must always mean the namespace that has it. */
export function checkNewName(location: string, name: string): void {
  checkWellFormed(location, name);
  if (!isNamespaceIdForm(name)) return;
  const flaw = "has the form of an id (rlns_ and 20 letters or digits), which cannot be the name of a new namespace";
  throw Problem.at(location, flaw, "Use another name, or the id of a namespace of this workspace.");
}

/** The living namespace that an administrative call names. Permission first: a refusal tells nothing about what exists. */
export function namespaceFor(
  directory: Directory,
  { key, workspace }: Caller,
  idOrName: string,
  action: Action,
  advice = "",
): NamespaceRecord {
  const namespace = directory.namespaceOf(workspace.id, idOrName);
  if (!may(key, action, namespace?.id)) throw lacking(action);
  if (namespace === undefined || namespace.deletedAtMs !== null) throw namespaceMissing(advice);
  return namespace;
}

/** @param advice what the caller can do about it: a sentence. */
export function namespaceMissing(advice = ""): Problem {
  return new Problem("namespace_not_found", `There is no namespace of this name or id. ${advice}`.trimEnd());
}
