/** The name that was probably meant, for errors about unknown names. */

/** More mistakes than this make another word, and so does a word of which fewer letters than this are left. */
const MISTAKES_MAX = 2;
const ALIKE_MIN = 3;

/** The known name with the fewest mistakes; undefined if none is near enough to be worth a question. Ignores case. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let fewest = MISTAKES_MAX + 1;
  for (const candidate of known) {
    const mistakes = mistakesBetween(name.toLowerCase(), candidate.toLowerCase());
    if (mistakes >= fewest || Math.max(name.length, candidate.length) - mistakes < ALIKE_MIN) continue;
    best = candidate;
    fewest = mistakes;
  }
  return best;
}

/** Letters to add, drop, change or swap with their neighbour; a row of the table at a time. */
function mistakesBetween(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = j > 1 && i > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(change, swap, row[j]! + 1, next[j - 1]! + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}
