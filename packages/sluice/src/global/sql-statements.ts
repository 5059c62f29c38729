/** The statements, in the words that all three databases share. No text of a caller's stands in them. */
import type { SqlDialect } from "./sql-dialect.ts";
import type { Statement } from "./sql-link.ts";
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

  /** The last change, how many other regions live, and the time: all that an import needs if nothing happened. */
  head(region: string): Statement {
    const { counters, regions } = this.#tables;
    const { nowMs } = this.#dialect;
    const live = `SELECT COUNT(*) FROM ${regions} WHERE seen_at > ${nowMs} - ${REGION_LIFE_MS} AND region <> ?`;
    return {
      text: `SELECT COALESCE((SELECT MAX(changed_at) FROM ${counters}), 0) AS changed_at,
        (${live}) AS others_live, ${nowMs} AS now_ms`,
      values: [region],
    };
  }

  /**
   * Live cells, whole: all, or those with a component that changed after a moment. Sums are made by the primary key; the parts
   * of the key are then taken from one row of each cell.
   */
  cells(region: string, sinceMs: number | null): Statement {
    const { counters } = this.#tables;
    const { nowMs, integer } = this.#dialect;
    const changed =
      sinceMs === null
        ? ""
        : `AND (key_hash, sequence) IN
            (SELECT key_hash, sequence FROM ${counters} WHERE changed_at > CAST(? AS ${integer}))`;
    return {
      text: `SELECT c.workspace, c.namespace, c.identifier, c.duration_ms, g.sequence, g.total, g.own
        FROM (SELECT key_hash, sequence, MIN(region) AS region, SUM(count) AS total,
            SUM(CASE WHEN region = ? THEN count ELSE 0 END) AS own
          FROM ${counters} WHERE expires_at > ${nowMs} ${changed} GROUP BY key_hash, sequence) g
        JOIN ${counters} c ON c.key_hash = g.key_hash AND c.sequence = g.sequence AND c.region = g.region`,
      values: sinceMs === null ? [region] : [region, sinceMs],
    };
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
