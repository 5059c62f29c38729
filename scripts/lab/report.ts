/** docs/lab.md: one row per part. A part that was not run keeps its older row. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { markdownTable } from "../../packages/server/src/text/columns.ts";

export interface Row {
  readonly part: string;
  readonly date: string;
  readonly commit: string;
  readonly length: string;
  readonly figures: string;
  readonly verdict: string;
}

const COLUMNS = ["part", "date", "commit", "length", "figures", "verdict"] as const;

const HEAD = `# Long runs

Some runs need hours: campaigns of simulated worlds, endurance under load, real servers that are killed and frozen, attacks, mutation
testing. CI runs a form of at most a minute of each; \`npm run lab\` runs them at full length and writes this page. Each row says
when a part was last run, on which commit, for how long, and what it found. [CONTRIBUTING.md](../CONTRIBUTING.md) describes the command.
`;

/** Replaces the rows of these parts, and keeps the others. */
export function writeRows(page: string, rows: readonly Row[], order: readonly string[]): void {
  const kept = (existsSync(page) ? rowsOf(readFileSync(page, "utf8")) : []).filter(
    ({ part }) => !rows.some((row) => row.part === part),
  );
  const rank = ({ part }: Row) => (order.includes(part) ? order.indexOf(part) : order.length);
  writeFileSync(page, pageOf([...kept, ...rows].sort((a, b) => rank(a) - rank(b))));
}

export function rowsOf(page: string): Row[] {
  return page
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) =>
      line
        .slice(2, -2)
        .split(/ +\| +/)
        .map((cell) => cell.trim()),
    )
    .filter(([first, ...rest]) => first !== "part" && !first!.startsWith("--") && rest.length === COLUMNS.length - 1)
    .map((cells) => Object.fromEntries(COLUMNS.map((column, i) => [column, cells[i]!])) as unknown as Row);
}

function pageOf(rows: readonly Row[]): string {
  const cells = rows.map((row) => COLUMNS.map((column) => escaped(row[column])));
  return [HEAD, markdownTable(COLUMNS, cells), ""].join("\n");
}

/** A cell's text must not end the cell or the row. */
function escaped(text: string): string {
  return text.replaceAll("|", "/").replaceAll(/\s+/g, " ").trim();
}
