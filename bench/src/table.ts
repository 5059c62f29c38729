/** A Markdown table: the first column to the left, all others to the right. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = header.map((_, column) => (column === 0 ? "---" : "--:"));
  return [header, rule, ...rows].map(line).join("\n");
}
