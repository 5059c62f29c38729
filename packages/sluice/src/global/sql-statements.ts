/** The statements, in the words that all three databases share. No text of a caller's stands in them. */

import type { SqlCell, SqlSpan } from "./sql-cursor.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { SqlValue, Statement } from "./sql-link.ts";
import { columnsOf, type StoredRow } from "./sql-row.ts";
import type { Tables } from "./sql-schema.ts";

/** A region that was not heard for this long is no longer counted as live. */
const REGION_LIFE_MS = 60_000;
/** One that was not heard for this long is forgotten. */
const REGION_FORGOTTEN_MS = 86_400_000;
/** How long a turn is kept after it was last taken: longer than a cleanup comes round, so that it stays with one process. */
const TURN_MS = 90_000;
const CLEANUP = "cleanup";
const CELL_KEY = "key_hash, sequence, region";

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

  raise(rows: readonly StoredRow[]): Statement {
    const { counters } = this.#tables;
    const { text, values } = this.#dialect.source(rows, this.#dialect.nowMs);
    const columns = [...columnsOf("count"), "changed_at"].join(", ");
    return { text: `INSERT INTO ${counters} (${columns}) ${text} ${this.#dialect.rise(counters)}`, values };
  }

  deny(rows: readonly StoredRow[]): Statement {
    const { denials } = this.#tables;
    const { text, values } = this.#dialect.source(rows, null);
    const keep = this.#dialect.onConflict(CELL_KEY, `limit_count = ${denials}.limit_count`);
    return { text: `INSERT INTO ${denials} (${columnsOf("limit_count").join(", ")}) ${text} ${keep}`, values };
  }

  register(region: string): Statement {
    const { nowMs } = this.#dialect;
    const again = this.#dialect.onConflict("region", `seen_at = ${nowMs}`);
    const text = `INSERT INTO ${this.#tables.regions} (region, seen_at) VALUES (?, ${nowMs}) ${again}`;
    return { text, values: [region] };
  }

  /**
   * The last change, how many other regions live, and the time: all that an import needs if nothing happened. Since a moment: also
   * when the span ends that so many changed rows make, if there are more.
   */
  head(region: string, sinceMs: number | null, changesMax: number): Statement {
    const { counters, regions } = this.#tables;
    const { nowMs, integer } = this.#dialect;
    const live = `SELECT COUNT(*) FROM ${regions} WHERE seen_at > ${nowMs} - ${REGION_LIFE_MS} AND region <> ?`;
    const spanEnd = `(SELECT changed_at FROM ${counters} WHERE changed_at > CAST(? AS ${integer})
      ORDER BY changed_at LIMIT 1 OFFSET ${changesMax}) AS span_end,`;
    return {
      text: `SELECT ${sinceMs === null ? "" : spanEnd} COALESCE((SELECT MAX(changed_at) FROM ${counters}), 0) AS changed_at,
        (${live}) AS others_live, ${nowMs} AS now_ms`,
      values: sinceMs === null ? [region] : [sinceMs, region],
    };
  }

  /**
   * Live cells, whole, in the order of the primary key. First the cells are picked, then their rows are added up by the primary
   * key, then the parts of the key are taken from one row of each.
   */
  cells(region: string, asked: CellsAsked): Statement {
    const { counters } = this.#tables;
    const picked = this.#pick(asked);
    const text = `SELECT p.workspace, p.namespace, p.identifier, p.duration_ms, g.key_hash, g.sequence, g.total, g.own
      FROM (SELECT c.key_hash, c.sequence, MIN(c.region) AS region, SUM(c.count) AS total,
          SUM(CASE WHEN c.region = ? THEN c.count ELSE 0 END) AS own
        FROM (${picked.text}) d JOIN ${counters} c ON c.key_hash = d.key_hash AND c.sequence = d.sequence
        GROUP BY c.key_hash, c.sequence) g
      JOIN ${counters} p ON p.key_hash = g.key_hash AND p.sequence = g.sequence AND p.region = g.region
      ORDER BY g.key_hash, g.sequence`;
    return { text, values: [region, ...picked.values] };
  }

  #pick({ span, after, cellsMax }: CellsAsked): Statement {
    const { nowMs, integer } = this.#dialect;
    // Not by the index on the expiry: nearly all rows are live, and they are wanted in the order of the primary key.
    const conditions = [`expires_at + 0 > ${nowMs}`];
    const values: SqlValue[] = [];
    if (span !== null) {
      conditions.push(`changed_at > CAST(? AS ${integer})`, `changed_at <= CAST(? AS ${integer})`);
      values.push(span.afterMs, span.untilMs);
    }
    if (after !== null) {
      // Every database finds the first of these in its index; not all of them would for a comparison of rows.
      conditions.push("key_hash >= ?", `(key_hash > ? OR sequence > CAST(? AS ${integer}))`);
      const hash = Buffer.from(after.hash, "hex");
      values.push(hash, hash, after.sequence);
    }
    const text = `SELECT DISTINCT key_hash, sequence FROM ${this.#tables.counters} WHERE ${conditions.join(" AND ")}
      ORDER BY key_hash, sequence LIMIT ${cellsMax}`;
    return { text, values };
  }

  denials(nowMs: number): Statement {
    return {
      text: `SELECT workspace, namespace, identifier, duration_ms, sequence, limit_count, expires_at
        FROM ${this.#tables.denials} WHERE expires_at > CAST(? AS ${this.#dialect.integer})`,
      values: [nowMs],
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

  deleteExpired(table: "counters" | "denials", nowMs: number, rowsMax: number): Statement {
    return { text: this.#dialect.deleteExpired(this.#tables[table], rowsMax), values: [nowMs] };
  }

  forgetRegions(): Statement {
    const text = `DELETE FROM ${this.#tables.regions} WHERE seen_at < ${this.#dialect.nowMs} - ${REGION_FORGOTTEN_MS}`;
    return { text, values: [] };
  }
}
