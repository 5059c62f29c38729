/** The statements, in the words that all three databases share. No text of a caller's stands in them. */

import type { SqlCell, SqlSpan } from "./sql-cursor.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { SqlRow, SqlValue, Statement } from "./sql-link.ts";
import { columnsOf, type StoredRow } from "./sql-row.ts";
import type { Tables } from "./sql-schema.ts";

/** A region that was not heard for this long is no longer counted as live. */
const REGION_LIFE_MS = 60_000;
/** An origin is heard every ten seconds: the one that a restart replaced is not among the three rounds after it. */
const ORIGIN_LIFE_MS = 25_000;
/** One that was not heard for this long is forgotten. */
const REGION_FORGOTTEN_MS = 86_400_000;
/** How long a turn is kept after it was last taken: longer than a cleanup comes round, so that it stays with one process. */
const TURN_MS = 90_000;
const CLEANUP = "cleanup";
const AMOUNTS = { counters: "count", denials: "limit_count" } as const;
/** What a region sees of a cell: `?` is its name. */
const AMOUNTS_SEEN = {
  counters: "SUM(c.count) AS total, SUM(CASE WHEN c.region = ? THEN c.count ELSE 0 END) AS own",
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
   */
  cells(table: CellsTable, region: string, { span, after, cellsMax }: CellsAsked): Statement {
    const { nowMs, integer } = this.#dialect;
    const parts = ["workspace", "namespace", "identifier", "duration_ms"].map((part) => `MIN(c.${part}) AS ${part}`);
    const amounts = AMOUNTS_SEEN[table];
    const sums = {
      text: `${parts.join(", ")}, ${amounts}, CASE WHEN MIN(c.expires_at) > ${nowMs} THEN 1 ELSE 0 END AS is_live`,
      values: Array.from(amounts.matchAll(/\?/g), () => region),
    };
    // Every database finds the first of these in its index; not all of them would for a comparison of rows.
    const isBehind = `key_hash >= ? AND (key_hash > ? OR sequence > CAST(? AS ${integer}))`;
    const hash = Buffer.from(after?.hash ?? "", "hex");
    const behind =
      after === null ? { text: "1 = 1", values: [] } : { text: isBehind, values: [hash, hash, after.sequence] };
    const inOrder = `ORDER BY key_hash, sequence LIMIT ${cellsMax}`;
    const cells = this.#tables[table];
    return span === null ? this.#all(cells, sums, behind, inOrder) : this.#changed(cells, sums, behind, inOrder, span);
  }

  #all(cells: string, sums: Statement, behind: Statement, inOrder: string): Statement {
    // Not by the index on the expiry: nearly all rows are live.
    const text = `SELECT c.key_hash, c.sequence, ${sums.text} FROM ${cells} c
      WHERE expires_at + 0 > ${this.#dialect.nowMs} AND ${behind.text} GROUP BY c.key_hash, c.sequence ${inOrder}`;
    return { text, values: [...sums.values, ...behind.values] };
  }

  #changed(cells: string, sums: Statement, behind: Statement, inOrder: string, span: SqlSpan): Statement {
    const { integer, materialized, byIndex, hasLateral } = this.#dialect;
    // By the index on changes: a plan that goes by the primary key reads nearly everything.
    const picked = `changed AS ${materialized} (SELECT DISTINCT key_hash, sequence FROM ${cells} ${byIndex(`${cells}_changed_at`)}
        WHERE changed_at > CAST(? AS ${integer}) AND changed_at <= CAST(? AS ${integer}) AND ${behind.text}),
      picked AS (SELECT key_hash, sequence FROM changed ${inOrder})`;
    const ofCell = "c.key_hash = d.key_hash AND c.sequence = d.sequence";
    // PostgreSQL would read the whole table to add up a thousand cells, unless it is told to look them up one by one.
    const summed = hasLateral
      ? `SELECT d.key_hash, d.sequence, g.* FROM picked d CROSS JOIN LATERAL (SELECT ${sums.text} FROM ${cells} c WHERE ${ofCell}) g`
      : `SELECT d.key_hash, d.sequence, ${sums.text} FROM picked d JOIN ${cells} c ON ${ofCell} GROUP BY d.key_hash, d.sequence`;
    const text = `WITH ${picked} ${summed} ORDER BY d.key_hash, d.sequence`;
    return { text, values: [span.afterMs, span.untilMs, ...behind.values, ...sums.values] };
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

  /** How many origins were lately heard to speak for a region. */
  origins(region: string): Statement {
    const text = `SELECT COUNT(*) AS origins FROM ${this.#tables.origins}
      WHERE region = ? AND seen_at > ${this.#dialect.nowMs} - ${ORIGIN_LIFE_MS}`;
    return { text, values: [region] };
  }

  forget(table: "regions" | "origins"): Statement {
    const text = `DELETE FROM ${this.#tables[table]} WHERE seen_at < ${this.#dialect.nowMs} - ${REGION_FORGOTTEN_MS}`;
    return { text, values: [] };
  }
}
