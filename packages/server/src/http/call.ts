/** One call of the API, as a route's handler sees it: who asks, and what answers. */

import type { Actor, AdminStore } from "../admin/admin-store.ts";
import type { Directory } from "../admin/directory.ts";
import type { KeyRecord, NamespaceRecord } from "../admin/records.ts";
import type { Caller } from "./authentication.ts";
import { type Action, lacking, may } from "./permission.ts";
import { Problem } from "./problem.ts";
import type { CheckedLimit } from "./rate-headers.ts";

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
}

export function actorOf(key: KeyRecord): Actor {
  return `key:${key.id}`;
}

/** A text that is stored or counted: no half of a surrogate pair, which no store could keep. */
export function checkWellFormed(location: string, text: string): void {
  if (!text.isWellFormed()) throw Problem.at(location, "must be well-formed Unicode; got half of a surrogate pair");
}

/** The living namespace that an administrative call names. Permission first: a refusal tells nothing about what exists. */
export function namespaceFor(
  directory: Directory,
  { key, workspace }: Caller,
  idOrName: string,
  action: Action,
): NamespaceRecord {
  const namespace = directory.namespaceOf(workspace.id, idOrName);
  if (!may(key, action, namespace?.id)) throw lacking(action);
  if (namespace === undefined || namespace.deletedAtMs !== null) throw namespaceMissing();
  return namespace;
}

export function namespaceMissing(): Problem {
  return new Problem("namespace_not_found", "There is no namespace of this name or id.");
}
