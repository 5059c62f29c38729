/** A table for a terminal. What stands in it comes from others: control characters would speak to the terminal. */
import { alignedLines } from "../text/columns.ts";

export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const safe = rows.map((row) => row.map((cell) => cell.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "�")));
  return alignedLines([head, ...safe]).join("\n");
}
