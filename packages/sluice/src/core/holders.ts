/**
 * Who holds a store: several limiters of a process may be given the same one, and it is closed with the last of them.
 */
const holders = new WeakMap<object, number>();

export function hold(store: object): void {
  holders.set(store, (holders.get(store) ?? 0) + 1);
}

/** Whether that was the last who held it. */
export function letGo(store: object): boolean {
  const left = (holders.get(store) ?? 1) - 1;
  if (left > 0) holders.set(store, left);
  else holders.delete(store);
  return left <= 0;
}
