/**
 * Imports on SQL, page by page: no statement answers with more cells than one turn of the event loop can handle.
 *
 * Changes are taken in spans of time with a bounded number of changed rows, and the cells of a span in the order of their hashes,
 * so many at a time; all cells likewise, without a span. An import that finds nothing new is one statement.
 */
import type { Timers } from "../core/clock.ts";
import { inTurns, nextTurn } from "../core/turns.ts";
import type { DeniedCell, ImportedCell } from "./counters.ts";
import {
  cellsBehind,
  isEmptied,
  nextCursor,
  readCursor,
  readPosition,
  type SqlCell,
  type SqlSpan,
} from "./sql-cursor.ts";
import type { SqlAnswer, SqlRow, Statement } from "./sql-link.ts";
import { escapeText, integerOf, keyOfRow } from "./sql-row.ts";
import type { CellsTable, SqlStatements } from "./sql-statements.ts";

export interface SqlPagesOptions<Cell> {
  readonly table: CellsTable;
  /** A row as a cell; null if it is damaged. */
  cellOf(row: SqlRow): Cell | null;
  readonly statements: SqlStatements;
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
    const { statements, run, table } = this.#options;
    const { rows } = await run(statements.cells(table, region, { span, after, cellsMax: CELLS_MAX }));
    const last = rows.at(-1);
    if (rows.length >= CELLS_MAX && last !== undefined)
      return this.#page(rows, next, next + cellsBehind(span, placeOf(last)));
    const isWhole = span === null || span.untilMs >= lastOf(next);
    return this.#page(rows, next, isWhole ? undefined : `${next}/${span.untilMs}`);
  }

  async #page(rows: readonly SqlRow[], cursor: string, rest?: string): Promise<SqlPage<Cell>> {
    const { timers, cellOf } = this.#options;
    const cells: Cell[] = [];
    if (rows.length > CELLS_SMALL) await nextTurn(timers);
    await inTurns(rows, timers, (row) => {
      if (Number(row["is_live"]) === 0) return;
      const cell = cellOf(row);
      if (cell === null) this.junk++;
      else cells.push(cell);
    });
    const page = { cells, cursor, regionsLive: this.#regionsLive };
    return rest === undefined ? page : { ...page, rest };
  }
}

/** The last change that is to be read before the import goes on at this cursor. */
function lastOf(next: string): number {
  return readCursor(next)?.changedMs ?? 0;
}

function placeOf(row: SqlRow): SqlCell {
  return { hash: Buffer.from(row["key_hash"] as Uint8Array).toString("hex"), sequence: integerOf(row["sequence"]) };
}

export function importedCellOf(row: SqlRow): ImportedCell | null {
  const key = keyOfRow(row);
  const sequence = integerOf(row["sequence"]);
  const total = integerOf(row["total"]);
  const own = integerOf(row["own"]);
  if (key === null || Number.isNaN(sequence + total + own)) return null;
  return { key, sequence, foreign: total - own, own };
}

export function deniedCellOf(row: SqlRow): DeniedCell | null {
  const key = keyOfRow(row);
  const sequence = integerOf(row["sequence"]);
  const [foreignLimit, ownLimit] = [row["foreign_limit"], row["own_limit"]].map((limit) =>
    limit === null ? null : integerOf(limit),
  ) as [number | null, number | null];
  if (key === null || Number.isNaN(sequence + (foreignLimit ?? 0) + (ownLimit ?? 0))) return null;
  return { key, sequence, foreignLimit, ownLimit };
}
