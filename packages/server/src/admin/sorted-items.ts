/**
 * A list that is kept in order while single items come and go: a page of it costs no sorting.
 *
 * It is sorted when it is first read, and again after many changes without a reader: one change then costs nothing but its own place.
 */

/** So many single places cost less than sorting some ten thousand items. */
const CHANGES_MAX = 100;

export class SortedItems<Item> {
  readonly #compare: (a: Item, b: Item) => number;
  /** Null: to be sorted. */
  #items: Item[] | null = null;
  /** Since it was last read. */
  #changes = 0;

  constructor(compare: (a: Item, b: Item) => number) {
    this.#compare = compare;
  }

  /** Adds an item, or puts it in the place of the one that is equal to it. */
  set(item: Item): void {
    const items = this.#changed();
    if (items === null) return;
    const place = placeOf(items, item, this.#compare);
    items.splice(place, this.#isAt(items, place, item) ? 1 : 0, item);
  }

  /** Removes the one that is equal to this. */
  delete(item: Item): void {
    const items = this.#changed();
    if (items === null) return;
    const place = placeOf(items, item, this.#compare);
    if (this.#isAt(items, place, item)) items.splice(place, 1);
  }

  /** All of these, which are the ones that were set and not deleted. Valid until the next change. */
  sorted(all: Iterable<Item>): readonly Item[] {
    this.#changes = 0;
    this.#items ??= [...all].sort(this.#compare);
    return this.#items;
  }

  #changed(): Item[] | null {
    if (++this.#changes > CHANGES_MAX) this.#items = null;
    return this.#items;
  }

  #isAt(items: readonly Item[], place: number, item: Item): boolean {
    return place < items.length && this.#compare(items[place]!, item) === 0;
  }
}

/** Where an item is in a sorted list, or belongs. */
export function placeOf<Item>(items: readonly Item[], item: Item, compare: (a: Item, b: Item) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(items[middle]!, item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
