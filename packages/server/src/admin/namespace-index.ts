/**
 * The namespaces of one workspace, by id and by name.
 *
 * A name may be that of one living namespace and of any number of deleted ones, and may even look like another's id. What is asked for
 * is found in this order: the living one with this id, the living one with this name, the deleted one with this id, and the one of
 * this name that was deleted last.
 */
import type { NamespaceRecord } from "./records.ts";

export class NamespaceIndex {
  readonly #byId = new Map<string, NamespaceRecord>();
  readonly #living = new Map<string, NamespaceRecord>();
  /** Those of one name, in no order. */
  readonly #deleted = new Map<string, Map<string, NamespaceRecord>>();

  set(namespace: NamespaceRecord): void {
    const { id, name, deletedAtMs } = namespace;
    this.#byId.set(id, namespace);
    if (this.#living.get(name)?.id === id) this.#living.delete(name);
    this.#deleted.get(name)?.delete(id);
    if (deletedAtMs === null) {
      this.#living.set(name, namespace);
      return;
    }
    const others = this.#deleted.get(name) ?? new Map<string, NamespaceRecord>();
    others.set(id, namespace);
    this.#deleted.set(name, others);
  }

  of(idOrName: string): NamespaceRecord | undefined {
    const byId = this.#byId.get(idOrName);
    if (byId?.deletedAtMs === null) return byId;
    return this.#living.get(idOrName) ?? byId ?? this.#lastDeleted(idOrName);
  }

  /** By name, then by id, in the order of code units: the order in which the pages of a list go on. */
  all(): readonly NamespaceRecord[] {
    return [...this.#byId.values()].sort((a, b) => compare(a.name, b.name) || compare(a.id, b.id));
  }

  #lastDeleted(name: string): NamespaceRecord | undefined {
    let last: NamespaceRecord | undefined;
    for (const one of this.#deleted.get(name)?.values() ?? []) {
      if (last === undefined || one.deletedAtMs! > last.deletedAtMs!) last = one;
    }
    return last;
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
