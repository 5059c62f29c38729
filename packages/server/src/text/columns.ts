/** Rows of text in columns, as wide as their widest: for a terminal, or as a table of Markdown. */

export interface ColumnsOptions {
  /** What stands between two columns. */
  readonly gap?: string;
  /** Columns before this one are aligned to the left, it and those after it to the right. By default all to the left. */
  readonly rightFrom?: number;
}

/** One line per row, without blanks at its end. */
export function alignedLines(
  rows: readonly (readonly string[])[],
  { gap = "  ", rightFrom = Number.POSITIVE_INFINITY }: ColumnsOptions = {},
): string[] {
  return padded(rows, rightFrom).map((row) => row.join(gap).trimEnd());
}

/** A Markdown table, aligned as a formatter would. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  rightFrom: number = Number.POSITIVE_INFINITY,
): string {
  const rule = head.map((_, i) => (i < rightFrom ? "---" : "--:"));
  const [first, dashes, ...others] = padded([head, rule, ...rows], rightFrom);
  const ruled = dashes!.map((cell, i) => (i < rightFrom ? "-".repeat(cell.length) : `${"-".repeat(cell.length - 1)}:`));
  return [first!, ruled, ...others].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

function padded(rows: readonly (readonly string[])[], rightFrom: number): string[][] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  return rows.map((row) => row.map((cell, i) => (i < rightFrom ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))));
}
