/** Columns of text, as wide as their widest. What stands in them comes from others: control characters would speak to the terminal. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const safe = rows.map((row) => row.map((cell) => cell.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "�")));
  const widths = head.map((name, i) => Math.max(name.length, ...safe.map((row) => row[i]!.length)));
  return [head, ...safe]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
