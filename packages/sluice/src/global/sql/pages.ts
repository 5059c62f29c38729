/**
 * Imports on SQL, page by page: no statement answers with more cells than one turn of the event loop can handle.
 *
 * Changes are taken in spans of time with a bounded number of changed rows, and the cells of a span in the order of their hashes,
 * so many at a time; all cells likewise, without a span. An import that finds nothing new is one statement.
 */
import { COUNT_MAX } from "../../core/bounds.ts";
import type { Timers } from "../../core/clock.ts";
import { inTurns, nextTurn } from "../../core/turns.ts";
import type { DeniedCell, ImportedCell } from "../counters.ts";
import { NO_NAMES, type RegionNames } from "../region-names.ts";
import { cellsBehind, isEmptied, nextCursor, readCursor, readPosition, type SqlCell, type SqlSpan } from "./cursor.ts";
import { SqlFailure } from "./failure.ts";
import type { SqlAnswer, SqlRow, Statement } from "./link.ts";
import type { SqlNames } from "./names.ts";
import { escapeText, integerOf, keyOfRow, textOf } from "./row.ts";
import type { CellsTable, SqlStatements } from "./statements.ts";

export interface SqlPagesOptions<Cell> {
  readonly table: CellsTable;
  /** The rows of a cell as a cell; null if they are damaged. */
  cellOf(rows: SqlCellRows): Cell | null;
  readonly statements: SqlStatements;
  readonly names: SqlNames;
  readonly timers: Timers;
  /** Runs a statement where imports are read. */
  run(statement: Statement): Promise<SqlAnswer>;
  readonly hasReplica: boolean;
  readonly overlapMs: number;
}

/** Cells of one page: at 6 µs each in the driver, some milliseconds. What is made of them is done in turns after that. */
const CELLS_MAX = 1_000;
/** Up to so many are handled in the turn in which the driver gave them. */
const CELLS_SMALL = 100;
/** Changed rows of a span: what ten regions with 2,400 busy keys each change in a second. */
const CHANGES_MAX = 24_000;

/** Names change when a region is renamed, and not again and again. */
const TRIES_MAX = 5;

/** The rows of one cell: one with what a region sees, or one for each class of names. */
export interface SqlCellRows {
  /** As it is stored. */
  readonly region: string;
  readonly rows: readonly [SqlRow, ...SqlRow[]];
  readonly names: RegionNames;
}

/** A page of counts (ImportPage) or of denials (DenialPage). */
export interface SqlPage<Cell> {
  readonly cells: readonly Cell[];
  readonly cursor: string;
  readonly rest?: string;
  readonly isAll?: true;
  readonly regionsLive: number;
}

export class SqlPages<Cell> {
  readonly #options: SqlPagesOptions<Cell>;
  /** Rows that were read and cannot be. */
  junk = 0;
  #regionsLive = 1;
  /** The names that share an origin, as last read. */
  #names: RegionNames = NO_NAMES;

  constructor(options: SqlPagesOptions<Cell>) {
    this.#options = options;
  }

  async read(region: string, text: string | null): Promise<SqlPage<Cell>> {
    const name = escapeText(region);
    const at = readPosition(text);
    if (at.kind === "more cells") return this.#cells(name, at.next, at.span, at.after);
    const fromMs = at.kind === "all" ? null : at.kind === "changes" ? at.cursor.sinceMs : at.fromMs;
    const { statements, run, table } = this.#options;
    const asked = { sinceMs: fromMs, changesMax: CHANGES_MAX };
    const [row = {}] = (await run(statements.head(table, name, asked))).rows;
    const head = {
      changedMs: integerOf(row["changed_at"]),
      oldestMs: integerOf(row["oldest_at"]),
      nowMs: integerOf(row["now_ms"]),
    };
    this.#regionsLive = 1 + integerOf(row["others_live"]);
    const next =
      at.kind === "more changes" ? at.next : nextCursor(at.kind === "all" ? null : at.cursor, head, this.#options);
    if (fromMs === null) return this.#cells(name, next, null, null);
    if (at.kind === "changes" && isEmptied(at.cursor, head)) {
      return { ...(await this.#cells(name, next, null, null)), isAll: true };
    }
    const lastMs = lastOf(next);
    if (lastMs === fromMs) return this.#page([], next);
    // Null where one span holds all changes.
    const span = { afterMs: fromMs, untilMs: Math.min(integerOf(row["span_end"] ?? lastMs), lastMs) };
    return this.#cells(name, next, span, null);
  }

  /** The next cells of a span, or of all. */
  async #cells(region: string, next: string, span: SqlSpan | null, after: SqlCell | null): Promise<SqlPage<Cell>> {
    const { rows, names } = await this.#readRows(region, span, after);
    if (rows.length > CELLS_SMALL) await nextTurn(this.#options.timers);
    const cells = cellsOf(rows);
    const page = await this.#merge(cells, region, names);
    const last = rows.at(-1);
    if (cells.length >= CELLS_MAX && last !== undefined)
      return this.#page(page, next, next + cellsBehind(span, placeOf(last)));
    const isWhole = span === null || span.untilMs >= lastOf(next);
    return this.#page(page, next, isWhole ? undefined : `${next}/${span.untilMs}`);
  }

  /**
   * Rows of cells, and the region names that hold for them. The names are read after the rows, and the rows again if the names have
   * changed: a row must never be added up without the registrations that were committed before it. If no two names share an
   * origin, the rows themselves say so, and there is nothing more to read; unless the region's own registration found another name
   * of its origin, which a replica may not have yet.
   */
  async #readRows(region: string, span: SqlSpan | null, after: SqlCell | null) {
    const { statements, run, names, table } = this.#options;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const known = this.#names;
      const asked = { span, after, cellsMax: CELLS_MAX, classes: known.classes(region) };
      const { rows } = await run(statements.cells(table, region, asked));
      const surplus = integerOf(rows[0]?.["surplus"] ?? 0);
      if (!(surplus > 0 || names.isLinked(region))) {
        this.#names = NO_NAMES;
        if (rows.length === 0 || known === NO_NAMES) return { rows, names: known };
        continue;
      }
      const found = await names.read(region);
      // Fewer than the rows' own snapshot had: another replica answered, which is behind, or a name was just forgotten.
      if (found.surplus < surplus) continue;
      this.#names = found;
      if (found.signature === known.signature) return { rows, names: found };
    }
    const message = `the names of regions changed ${TRIES_MAX} times while rows were read, or replicas disagree about them`;
    throw new SqlFailure("region", message);
  }

  async #merge(all: readonly SqlCellRows["rows"][], region: string, names: RegionNames) {
    const { timers, cellOf } = this.#options;
    const cells: Cell[] = [];
    await inTurns(all, timers, (rows) => {
      if (Number(rows[0]["is_live"]) === 0) return;
      const cell = cellOf({ region, rows, names });
      if (cell === null) this.junk++;
      else cells.push(cell);
    });
    return cells;
  }

  #page(cells: readonly Cell[], cursor: string, rest?: string): SqlPage<Cell> {
    const page = { cells, cursor, regionsLive: this.#regionsLive };
    return rest === undefined ? page : { ...page, rest };
  }
}

/** Rows by cell. The rows of one cell follow each other; only with classes is there more than one. */
function cellsOf(rows: readonly SqlRow[]): readonly SqlCellRows["rows"][] {
  if (rows[0]?.["class"] === undefined) return rows.map((row) => [row]);
  const cells: [SqlRow, ...SqlRow[]][] = [];
  let lastName = "";
  for (const row of rows) {
    const { hash, sequence } = placeOf(row);
    const name = `${hash}/${sequence}`;
    if (name === lastName) cells.at(-1)!.push(row);
    else cells.push([row]);
    lastName = name;
  }
  return cells;
}

/** The last change that is to be read before the import goes on at this cursor. */
function lastOf(next: string): number {
  return readCursor(next)?.changedMs ?? 0;
}

function placeOf(row: SqlRow): SqlCell {
  return { hash: Buffer.from(row["key_hash"] as Uint8Array).toString("hex"), sequence: integerOf(row["sequence"]) };
}

export function importedCellOf({ region, rows, names }: SqlCellRows): ImportedCell | null {
  const [row] = rows;
  const key = keyOfRow(row);
  const sequence = integerOf(row["sequence"]);
  if (key === null || Number.isNaN(sequence)) return null;
  if (row["class"] === undefined) {
    const total = integerOf(row["total"]);
    const own = integerOf(row["own"]);
    return Number.isNaN(total + own) ? null : noted({ key, sequence, foreign: total - own, own }, rows);
  }
  const rest = rows.find((one) => textOf(one["class"]) === "");
  const classes = largestOf(rows).filter(([name]) => name !== "");
  const { foreign, own } = names.seenFrom(region, { sequence, durationMs: key.durationMs }, classes);
  const sum = Math.min(foreign + integerOf(rest?.["total"] ?? 0), COUNT_MAX);
  return Number.isNaN(sum + own) ? null : noted({ key, sequence, foreign: sum, own }, rows);
}

function noted(cell: ImportedCell, rows: SqlCellRows["rows"]): ImportedCell {
  return rows.some((row) => Number(row["charged"]) > 0) ? { ...cell, isCharged: true } : cell;
}

export function deniedCellOf({ region, rows, names }: SqlCellRows): DeniedCell | null {
  const [row] = rows;
  const key = keyOfRow(row);
  const sequence = integerOf(row["sequence"]);
  if (key === null || Number.isNaN(sequence)) return null;
  const window = { sequence, durationMs: key.durationMs };
  // The empty class is other regions, and no region's name is empty.
  const { foreignLimit, ownLimit } =
    row["class"] === undefined
      ? { foreignLimit: limitOf(row["foreign_limit"]), ownLimit: limitOf(row["own_limit"]) }
      : names.deniedFrom(region, window, largestOf(rows));
  return Number.isNaN((foreignLimit ?? 0) + (ownLimit ?? 0)) ? null : { key, sequence, foreignLimit, ownLimit };
}

function largestOf(rows: SqlCellRows["rows"]): readonly (readonly [string, number])[] {
  return rows.map((row) => [textOf(row["class"]), integerOf(row["largest"])] as const);
}

function limitOf(value: unknown): number | null {
  return value === null ? null : integerOf(value);
}
