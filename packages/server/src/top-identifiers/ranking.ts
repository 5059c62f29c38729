/**
 * What one or several sketches know of the heaviest names, with bounds that enclose the truth.
 *
 * Invariant: for every entry `atLeast ≤ truth ≤ atMost`; whoever is no entry has at most `absentAtMost`; and no two bounds of an entry
 * are farther apart than that. Merging keeps it: a part that does not know a name says what it may have there at most. Where each part
 * says at most the k-th of its total, the sum does so, too.
 */

export interface RankingEntry {
  readonly name: string;
  readonly atLeast: number;
  readonly atMost: number;
}

export interface Ranking {
  /** All that was counted, of every name. */
  readonly total: number;
  readonly absentAtMost: number;
  readonly entries: readonly RankingEntry[];
}

/** Of several streams: minutes, or processes. */
export function mergedOf(parts: readonly Ranking[]): Ranking {
  const absentAtMost = sumOf(parts, (part) => part.absentAtMost);
  const sums = new Map<string, { atLeast: number; atMost: number }>();
  for (const part of parts) {
    for (const { name, atLeast, atMost } of part.entries) {
      let sum = sums.get(name);
      if (sum === undefined) {
        sum = { atLeast: 0, atMost: absentAtMost };
        sums.set(name, sum);
      }
      sum.atLeast += atLeast;
      sum.atMost += atMost - part.absentAtMost;
    }
  }
  const entries = [...sums].map(([name, sum]) => ({ name, ...sum }));
  return { total: sumOf(parts, ({ total }) => total), absentAtMost, entries };
}

/** The first ones: by what they have at most, so that whoever may belong there does. What the others have at most is told anew. */
export function firstOf({ total, absentAtMost, entries }: Ranking, limit: number): Ranking {
  const sorted = entries.toSorted((a, b) => b.atMost - a.atMost || b.atLeast - a.atLeast || (a.name < b.name ? -1 : 1));
  const cut = sorted[limit]?.atMost ?? 0;
  return { total, absentAtMost: Math.max(absentAtMost, cut), entries: sorted.slice(0, limit) };
}

function sumOf(parts: readonly Ranking[], read: (part: Ranking) => number): number {
  return parts.reduce((sum, part) => sum + read(part), 0);
}
