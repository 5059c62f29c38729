/** The middle of the samples; of an even number, the mean of the two in the middle. */
export function median(samples: readonly number[]): number {
  if (samples.length === 0) throw new Error("the median of nothing");
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
