/** How much memory a worker may take, by the table of docs/operating.md ("Memory"): a test judges by what users read. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const DOCUMENT = fileURLToPath(new URL("../../docs/operating.md", import.meta.url));
const HEADING = "| part ";
/** Part, bytes, for each of, where. */
const CELLS_OF_ROW = 4;
const GARBAGE_FACTOR = 1.5;
const UNITS = { "": 1, KiB: 1024, MiB: 1024 ** 2 } as const;

/** The value of each setting that the table names. */
export type Sizes = Readonly<Record<string, number>>;

/** @param workspaces those that fill their caps. */
export function memoryMaxMib(sizes: Sizes, workspaces: number): number {
  const lines = readFileSync(DOCUMENT, "utf8").split("\n");
  const first = lines.findIndex((line) => line.startsWith(HEADING)) + 2;
  const end = lines.findIndex((line, at) => at > first && !line.startsWith("|"));
  const bytes = lines.slice(first, end).map((line) => bytesOf(line, sizes, workspaces));
  return bytes.reduce((sum, more) => sum + more, 0) / 1024 ** 2;
}

function bytesOf(line: string, sizes: Sizes, workspaces: number): number {
  const cells = line.split("|").slice(1, -1);
  const [, size = "", each = "", where = ""] = cells.map((cell) => cell.trim());
  const [, number, unit = ""] = /^(\d+)(?: ([KM]iB))?$/.exec(size) ?? [];
  const setting = /^`(.+?)`/.exec(each)?.[1];
  const count = setting === undefined ? 1 : sizes[setting];
  if (cells.length !== CELLS_OF_ROW || number === undefined || count === undefined)
    throw new Error(`not read: ${line}`);
  const bytes = Number(number) * UNITS[unit as keyof typeof UNITS] * count;
  return bytes * (each.endsWith("per workspace") ? workspaces : 1) * (where === "the heap" ? GARBAGE_FACTOR : 1);
}
