/** The statements, in the words that all three databases share. No text of a caller's stands in them. */

import { COUNT_MAX } from "../../core/bounds.ts";
import { LIFE_FORGOTTEN_MS, LIFE_PREFIX, NAME_FORGOTTEN_MS, NAME_LIVE_MS } from "../region-names.ts";
import type { SqlCell, SqlSpan } from "./cursor.ts";
import type { SqlDialect } from "./dialect.ts";
import type { SqlRow, SqlValue, Statement } from "./link.ts";
import { type Amount, columnsOf, notesOf, type StoredRow } from "./row.ts";
import type { Tables } from "./schema.ts";

/** A region that was not heard for this long is no longer counted as live. */
const REGION_LIFE_MS = 60_000;
/** A region that has not published for this long is forgotten. */
const REGION_FORGOTTEN_MS = 86_400_000;
/** How long a turn is kept after it was last taken: longer than a cleanup comes round, so that it stays with one process. */
const TURN_MS = 90_000;
const CLEANUP = "cleanup";
const AMOUNTS = { counters: "count", denials: "limit_count" } as const;
/** What a region sees of a cell: `?` is its name. */
const AMOUNTS_SEEN = {
  counters: `${atMost("SUM(c.count)")} AS total, SUM(CASE WHEN c.region = ? THEN c.count ELSE 0 END) AS own,
    MAX(c.charged) AS charged`,
  denials: `MAX(CASE WHEN c.region = ? THEN NULL ELSE c.limit_count END) AS foreign_limit,
    MAX(CASE WHEN c.region = ? THEN c.limit_count END) AS own_limit`,
} as const;

/** The tables that hold a row per cell and region. */
export type CellsTable = "counters" | "denials";

export interface HeadAsked {
  readonly sinceMs: number | null;
  readonly changesMax: number;
}

export interface CellsAsked {
  /** Only cells of which a component changed in this span. */
  readonly span: SqlSpan | null;
  /** Only cells behind this one, in the order of the primary key. */
  readonly after: SqlCell | null;
  readonly cellsMax: number;
  /** Names that share an origin with another name, by the class that their rows are added to (region-names.ts). */
  readonly classes: ReadonlyMap<string, readonly string[]>;
}

export class SqlStatements {
  readonly #dialect: SqlDialect;
  readonly #tables: Tables;

  constructor(dialect: SqlDialect, tables: Tables) {
    this.#dialect = dialect;
    this.#tables = tables;
  }

  /** Writes counts, or the limits of denials. Of one row written twice the larger amount stays. */
  raise(table: CellsTable, rows: readonly StoredRow[]): Statement {
    const name = this.#tables[table];
    const amount = AMOUNTS[table];
    const { text, values } = this.#dialect.source(rows, this.#dialect.nowMs);
    const columns = [...columnsOf(amount), "changed_at"].join(", ");
    return { text: `INSERT INTO ${name} (${columns}) ${text} ${this.#dialect.rise(name, amount)}`, values };
  }

  register(region: string): Statement {
    const { nowMs } = this.#dialect;
    const again = this.#dialect.onConflict("region", `seen_at = ${nowMs}`);
    const text = `INSERT INTO ${this.#tables.regions} (region, seen_at) VALUES (?, ${nowMs}) ${again}`;
    return { text, values: [region] };
  }

  /**
   * The last change and the oldest, how many other regions live, and the time: all that an import needs if nothing happened. Since a
   * moment: also when the span ends that so many changed rows make, if there are more.
   */
  head(table: CellsTable, region: string, { sinceMs, changesMax }: HeadAsked): Statement {
    const { [table]: cells, regions } = this.#tables;
    const { nowMs, integer } = this.#dialect;
    const live = `SELECT COUNT(*) FROM ${regions} WHERE seen_at > ${nowMs} - ${REGION_LIFE_MS} AND region <> ?`;
    const spanEnd = `(SELECT changed_at FROM ${cells} WHERE changed_at > CAST(? AS ${integer})
      ORDER BY changed_at LIMIT 1 OFFSET ${changesMax}) AS span_end,`;
    return {
      text: `SELECT ${sinceMs === null ? "" : spanEnd} COALESCE((SELECT MAX(changed_at) FROM ${cells}), 0) AS changed_at,
        COALESCE((SELECT MIN(changed_at) FROM ${cells}), 0) AS oldest_at, (${live}) AS others_live, ${nowMs} AS now_ms`,
      values: sinceMs === null ? [region] : [sinceMs, region],
    };
  }

  /**
   * Cells, whole, in the order of the primary key: all, or those with a component that changed in a span. The parts of the key are
   * the same in all rows of a cell. One that has expired meanwhile is marked, so that a page is seen to be full.
   *
   * With classes, a cell is one row for each class, with the largest amount of its names, and one row with an empty class for all other
   * regions. `surplus` is 0 if no two names shared an origin in the snapshot that the cells were read from.
   */
  cells(table: CellsTable, region: string, { span, after, cellsMax, classes }: CellsAsked): Statement {
    const { nowMs, integer } = this.#dialect;
    const parts = ["workspace", "namespace", "identifier", "duration_ms"].map((part) => `MIN(c.${part}) AS ${part}`);
    const seen = classes.size > 0 ? classed(AMOUNTS[table], region, classes) : seenBy(AMOUNTS_SEEN[table], region);
    const sums = {
      text: `${seen.text}, ${parts.join(", ")}, CASE WHEN MIN(c.expires_at) > ${nowMs} THEN 1 ELSE 0 END AS is_live,
        (${this.#surplus()}) AS surplus`,
      values: seen.values,
    };
    // Every database finds the first of these in its index; not all of them would for a comparison of rows.
    const isBehind = `key_hash >= ? AND (key_hash > ? OR sequence > CAST(? AS ${integer}))`;
    const hash = Buffer.from(after?.hash ?? "", "hex");
    const behind =
      after === null ? { text: "1 = 1", values: [] } : { text: isBehind, values: [hash, hash, after.sequence] };
    const inOrder = `ORDER BY key_hash, sequence LIMIT ${cellsMax}`;
    const cells = this.#tables[table];
    // All at once, or picked first: with classes a cell is several rows, and a page is so many cells.
    if (span === null && classes.size === 0) return this.#all(cells, sums, behind, inOrder);
    const picked = span === null ? this.#pickAll(cells, behind, inOrder) : this.#pick(cells, behind, inOrder, span);
    return this.#picked(cells, picked, sums, classes.size > 0);
  }

  /** By how many pairs of name and origin there are more than origins. */
  #surplus(): string {
    return `SELECT COUNT(*) - COUNT(DISTINCT origin) FROM ${this.#tables.origins}`;
  }

  #all(cells: string, sums: Statement, behind: Statement, inOrder: string): Statement {
    // Not by the index on the expiry: nearly all rows are live.
    const text = `SELECT c.key_hash, c.sequence, ${sums.text} FROM ${cells} c
      WHERE expires_at + 0 > ${this.#dialect.nowMs} AND ${behind.text} GROUP BY c.key_hash, c.sequence ${inOrder}`;
    return { text, values: [...sums.values, ...behind.values] };
  }

  #pickAll(cells: string, behind: Statement, inOrder: string): Statement {
    const text = `picked AS (SELECT key_hash, sequence FROM ${cells}
      WHERE expires_at + 0 > ${this.#dialect.nowMs} AND ${behind.text} GROUP BY key_hash, sequence ${inOrder})`;
    return { text, values: behind.values };
  }

  #pick(cells: string, behind: Statement, inOrder: string, span: SqlSpan): Statement {
    const { integer, materialized, byIndex } = this.#dialect;
    // By the index on changes: a plan that goes by the primary key reads nearly everything.
    const text = `changed AS ${materialized} (SELECT DISTINCT key_hash, sequence FROM ${cells} ${byIndex(`${cells}_changed_at`)}
        WHERE changed_at > CAST(? AS ${integer}) AND changed_at <= CAST(? AS ${integer}) AND ${behind.text}),
      picked AS (SELECT key_hash, sequence FROM changed ${inOrder})`;
    return { text, values: [span.afterMs, span.untilMs, ...behind.values] };
  }

  #picked(cells: string, picked: Statement, sums: Statement, hasClasses: boolean): Statement {
    const ofCell = "c.key_hash = d.key_hash AND c.sequence = d.sequence";
    // PostgreSQL would read the whole table to add up a thousand cells, unless it is told to look them up one by one.
    const summed = this.#dialect.hasLateral
      ? `SELECT d.key_hash, d.sequence, g.* FROM picked d CROSS JOIN LATERAL (SELECT ${sums.text} FROM ${cells} c WHERE ${ofCell} ${hasClasses ? "GROUP BY class" : ""}) g`
      : `SELECT d.key_hash, d.sequence, ${sums.text} FROM picked d JOIN ${cells} c ON ${ofCell} GROUP BY d.key_hash, d.sequence${hasClasses ? ", class" : ""}`;
    const text = `WITH ${picked.text} ${summed} ORDER BY d.key_hash, d.sequence`;
    return { text, values: [...picked.values, ...sums.values] };
  }

  /** Rows of the denial channel, of all regions, in the order of the primary key; `after` is the last row of the page before. */
  denials(nowMs: number, after: SqlRow | null, rowsMax: number): Statement {
    const { integer } = this.#dialect;
    const at = `sequence = CAST(? AS ${integer}) AND region > ?`;
    const isBehind = `AND key_hash >= ? AND (key_hash > ? OR sequence > CAST(? AS ${integer}) OR (${at}))`;
    const hash = Buffer.from((after?.["key_hash"] ?? []) as Uint8Array);
    const [sequence, region] = [after?.["sequence"], after?.["region"]] as [SqlValue, SqlValue];
    return {
      text: `SELECT key_hash, sequence, region, workspace, namespace, identifier, duration_ms, limit_count, expires_at
        FROM ${this.#tables.denials} WHERE expires_at + 0 > CAST(? AS ${integer}) ${after === null ? "" : isBehind}
        ORDER BY key_hash, sequence, region LIMIT ${rowsMax}`,
      values: after === null ? [nowMs] : [nowMs, hash, hash, sequence, sequence, region],
    };
  }

  /** Takes the turn to clean up if nobody has it; the last one's answer says whose it is. */
  turn(holder: string): readonly Statement[] {
    const { turns } = this.#tables;
    const { nowMs } = this.#dialect;
    const keep = this.#dialect.onConflict("name", `holder = ${turns}.holder`);
    return [
      { text: `INSERT INTO ${turns} (name, holder, until_at) VALUES (?, ?, 0) ${keep}`, values: [CLEANUP, holder] },
      {
        text: `UPDATE ${turns} SET holder = ?, until_at = ${nowMs} + ${TURN_MS}
          WHERE name = ? AND (holder = ? OR until_at < ${nowMs})`,
        values: [holder, CLEANUP, holder],
      },
      { text: `SELECT holder FROM ${turns} WHERE name = ?`, values: [CLEANUP] },
    ];
  }

  deleteExpired(table: CellsTable, nowMs: number, rowsMax: number): Statement {
    return { text: this.#dialect.deleteExpired(this.#tables[table], rowsMax), values: [nowMs] };
  }

  registerOrigin(region: string, origin: string): Statement {
    const { nowMs } = this.#dialect;
    const again = this.#dialect.onConflict("region, origin", `seen_at = ${nowMs}`);
    const text = `INSERT INTO ${this.#tables.origins} (region, origin, seen_at) VALUES (?, ?, ${nowMs}) ${again}`;
    return { text, values: [region, origin] };
  }

  /** How many origins a region name has now, and whether any origin has two names. */
  origins(region: string): Statement {
    const text = `SELECT COUNT(*) AS origins, (${this.#surplus()}) AS surplus FROM ${this.#tables.origins}
      WHERE region = ? AND seen_at > ${this.#dialect.nowMs} - ${NAME_LIVE_MS}`;
    return { text, values: [region] };
  }

  /** All pairs of the names that share an origin with another name. */
  sharedNames(pairsMax: number): Statement {
    const { origins } = this.#tables;
    const text = `SELECT region, origin, seen_at,
        CASE WHEN seen_at > ${this.#dialect.nowMs} - ${NAME_LIVE_MS} THEN 1 ELSE 0 END AS is_in_use
      FROM ${origins} WHERE region IN (SELECT region FROM ${origins} WHERE origin IN
        (SELECT origin FROM ${origins} GROUP BY origin HAVING COUNT(*) > 1)) LIMIT ${pairsMax}`;
    return { text, values: [] };
  }

  /** Pairs that were not registered for a day, the oldest first. */
  oldNames(pairsMax: number): Statement {
    const text = `SELECT region, origin, seen_at FROM ${this.#tables.origins}
      WHERE seen_at < ${this.#dialect.nowMs} - ${NAME_FORGOTTEN_MS} ORDER BY seen_at LIMIT ${pairsMax}`;
    return { text, values: [] };
  }

  /** A row of a region in a window that began while a pair was registered, or before, or in the day after it. */
  rowOf(table: CellsTable, region: string, seenAtMs: number): Statement {
    const text = `SELECT 1 AS found FROM ${this.#tables[table]}
      WHERE sequence * duration_ms <= CAST(? AS ${this.#dialect.integer}) AND region = ? LIMIT 1`;
    return { text, values: [seenAtMs + NAME_FORGOTTEN_MS, region] };
  }

  /** Not a pair that was registered again since it was looked at. */
  forgetName(region: string, origin: string): Statement {
    const text = `DELETE FROM ${this.#tables.origins}
      WHERE region = ? AND origin = ? AND seen_at < ${this.#dialect.nowMs} - ${NAME_FORGOTTEN_MS}`;
    return { text, values: [region, origin] };
  }

  /** The derived table is for MySQL, which does not read in a subquery what it deletes from. */
  forgetLives(): Statement {
    const { origins } = this.#tables;
    const text = `DELETE FROM ${origins}
      WHERE origin LIKE '${LIFE_PREFIX}%' AND seen_at < ${this.#dialect.nowMs} - ${LIFE_FORGOTTEN_MS} AND origin NOT IN
        (SELECT origin FROM (SELECT origin FROM ${origins} GROUP BY origin HAVING COUNT(*) > 1) shared)`;
    return { text, values: [] };
  }

  forgetRegions(): Statement {
    const text = `DELETE FROM ${this.#tables.regions} WHERE seen_at < ${this.#dialect.nowMs} - ${REGION_FORGOTTEN_MS}`;
    return { text, values: [] };
  }
}

/** A sum beyond the exact integers is the largest of them: no driver could give it back, and the cell would be junk. */
function atMost(sum: string): string {
  return `CASE WHEN ${sum} > ${COUNT_MAX} THEN ${COUNT_MAX} ELSE ${sum} END`;
}

/** What a region sees of a cell. */
function seenBy(amounts: string, region: string): Statement {
  return { text: amounts, values: Array.from(amounts.matchAll(/\?/g), () => region) };
}

/** The class of a row's region, and the amounts of each class. A class of one name keeps it; the empty class is all other regions. */
function classed(amount: Amount, region: string, classes: CellsAsked["classes"]): Statement {
  const single = [region];
  const whens: string[] = [];
  const values: string[] = [];
  for (const [name, names] of classes) {
    if (names.length === 1) single.push(name);
    else {
      whens.push(`WHEN c.region IN (${names.map(() => "?").join(", ")}) THEN ?`);
      values.push(...names, name);
    }
  }
  whens.push(`WHEN c.region IN (${single.map(() => "?").join(", ")}) THEN c.region`);
  const notes = notesOf(amount).map((note) => `, MAX(c.${note}) AS ${note}`);
  const text = `CASE ${whens.join(" ")} ELSE '' END AS class, MAX(c.${amount}) AS largest,
    ${atMost(`SUM(c.${amount})`)} AS total${notes.join("")}`;
  return { text, values: [...values, ...single] };
}
