/**
 * Keys: what is being limited, and the one encoding that everything outside this process agrees on.
 *
 * Invariant: the encoding is injective. Each part is preceded by its length, so no character of a part, whatever it is,
 * can be taken for a boundary: ("a-b", "c") and ("a", "b-c") stay two keys.
 */
import type { DurationMs } from "../core/brands.ts";

export interface Key {
  readonly workspace: string;
  readonly namespace: string;
  readonly identifier: string;
  readonly durationMs: DurationMs;
}

/** The key as text, the same in every process and release: lengths are in UTF-16 units, the duration stands first. */
export function encodeKey(key: Key): string {
  const { workspace, namespace, identifier, durationMs } = key;
  return `${durationMs}:${workspace.length}:${workspace}${namespace.length}:${namespace}${identifier.length}:${identifier}`;
}

/** The key of an identifier within a scope: workspace, namespace and duration. */
export function keyOf(scope: Omit<Key, "identifier">, identifier: string): Key {
  return { workspace: scope.workspace, namespace: scope.namespace, identifier, durationMs: scope.durationMs };
}
