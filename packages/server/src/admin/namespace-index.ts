/**
 * The namespaces of one workspace, by id and by name.
 *
 * A name may be that of one living namespace and of any number of deleted ones. A namespace is found in this order: the one with this id,
 * living or deleted; the living one with this name; the one of this name that was deleted last. So a namespace that an earlier release
 * has given the id of another as its name never stands for that other one.
 */
import type { NamespaceRecord } from "./records.ts";
import { SortedItems } from "./sorted-items.ts";

export class NamespaceIndex {
  readonly #byId = new Map<string, NamespaceRecord>();
  readonly #sorted = new SortedItems<NamespaceRecord>((a, b) => compare(a.name, b.name) || compare(a.id, b.id));
  readonly #living = new Map<string, NamespaceRecord>();
  /** Those of one name, in no order. */
  readonly #deleted = new Map<string, Map<string, NamespaceRecord>>();

  set(namespace: NamespaceRecord): void {
    const { id, name, deletedAtMs } = namespace;
    this.#unlist(namespace);
    this.#byId.set(id, namespace);
    this.#sorted.set(namespace);
    if (deletedAtMs === null) {
      this.#living.set(name, namespace);
      return;
    }
    const others = this.#deleted.get(name) ?? new Map<string, NamespaceRecord>();
    others.set(id, namespace);
    this.#deleted.set(name, others);
  }

  /** One that was purged. */
  delete(namespace: NamespaceRecord): void {
    this.#unlist(namespace);
    this.#byId.delete(namespace.id);
    this.#sorted.delete(namespace);
  }

  of(idOrName: string): NamespaceRecord | undefined {
    return this.#byId.get(idOrName) ?? this.#living.get(idOrName) ?? this.#lastDeleted(idOrName);
  }

  /** By name, then by id, in the order of code units: the order in which the pages of a list go on. */
  all(): readonly NamespaceRecord[] {
    return this.#sorted.sorted(this.#byId.values());
  }

  #unlist({ id, name }: NamespaceRecord): void {
    if (this.#living.get(name)?.id === id) this.#living.delete(name);
    const others = this.#deleted.get(name);
    others?.delete(id);
    if (others?.size === 0) this.#deleted.delete(name);
  }

  #lastDeleted(name: string): NamespaceRecord | undefined {
    let last: NamespaceRecord | undefined;
    for (const deleted of this.#deleted.get(name)?.values() ?? []) {
      if (last === undefined || deleted.deletedAtMs! > last.deletedAtMs!) last = deleted;
    }
    return last;
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
