/**
 * The table of region names and their origins, on SQL: registers, reads and forgets.
 *
 * Invariant: a pair of name and origin is kept as long as a row lives whose count may contain counts of that origin: a row of the
 * name, in a window that began before `seen_at` plus one day. It does not matter when the row was last changed: a name that has
 * another origin by now goes on from the count of the old one.
 */
import type { Clock } from "../../core/clock.ts";
import type { Registration } from "../counters.ts";
import { twoNames } from "../name-book.ts";
import { NO_NAMES, type RegionName, RegionNames } from "../region-names.ts";
import { SqlFailure } from "./failure.ts";
import type { SqlAnswer, SqlRow, SqlSide, Statement } from "./link.ts";
import { escapeText, integerOf, textOf, unescapeText } from "./row.ts";
import type { SqlStatements } from "./statements.ts";

export interface SqlNamesOptions {
  readonly statements: SqlStatements;
  readonly clock: Pick<Clock, "monoMs">;
  run(side: SqlSide, statement: Statement): Promise<SqlAnswer>;
}

/** Pairs of names that share an origin: two values each in a statement, of which SQLite takes 32,766. */
const PAIRS_MAX = 10_000;
/** Registrations in a row that must find the same trouble: the process that a restart replaced is still found by two. */
const TROUBLE_MIN = 3;
/** Pairs older than a day are looked at this often, so many at a time. */
const FORGET_MS = 3_600_000;
const FORGET_MAX = 100;

export class SqlNames {
  readonly #options: SqlNamesOptions;
  /** How often in a row each region was found to share its name or its origin. */
  readonly #troubles = new Map<string, number>();
  /** The pairs of a region's own origin as its last registration found them where it writes, if they were several: by escaped name. */
  readonly #linked = new Map<string, readonly RegionName[]>();
  #forgottenMs = Number.NEGATIVE_INFINITY;

  constructor(options: SqlNamesOptions) {
    this.#options = options;
  }

  async register(region: string, origin: string): Promise<Registration> {
    const { statements, run } = this.#options;
    const name = escapeText(region);
    await run("write", statements.registerOrigin(name, origin));
    const [row = {}] = (await run("write", statements.origins(name))).rows;
    const origins = integerOf(row["origins"]);
    const pairs = integerOf(row["surplus"]) > 0 ? await this.#pairs("write") : [];
    const inUse = pairs.filter((pair) => pair.isInUse && pair.origin === origin && pair.region !== name);
    const trouble =
      origins > 1
        ? `the region ${JSON.stringify(region)} is used by ${origins} origins, which hide each other's counts: give each its own region name, or let them share one Redis`
        : inUse.length > 0
          ? twoNames(
              region,
              inUse.map((pair) => unescapeText(pair.region)),
            )
          : null;
    const linked = pairs.filter((pair) => pair.origin === origin);
    if (linked.length > 0) this.#linked.set(name, linked);
    else this.#linked.delete(name);
    const inARow = trouble === null ? 0 : (this.#troubles.get(region) ?? 0) + 1;
    this.#troubles.set(region, inARow);
    const aliases = new RegionNames(pairs).aliases(name).map(unescapeText);
    return { aliases, conflict: inARow < TROUBLE_MIN ? null : trouble };
  }

  /** Whether a region's origin has other names, which a replica that is behind may not know yet. */
  isLinked(name: string): boolean {
    return this.#linked.has(name);
  }

  /** The names that share an origin, where imports are read; and those of the region itself, even if they have not arrived there. */
  async read(name: string): Promise<RegionNames> {
    const pairs = await this.#pairs("read");
    const isMissing = ({ region, origin }: RegionName) =>
      !pairs.some((pair) => pair.region === region && pair.origin === origin);
    const known = [...pairs, ...(this.#linked.get(name) ?? []).filter(isMissing)];
    return known.length === 0 ? NO_NAMES : new RegionNames(known);
  }

  /** Forgets the pairs that no row needs any more, once per hour at most. */
  async forgetOnce(): Promise<void> {
    const { statements, run, clock } = this.#options;
    await run("write", statements.forgetLives());
    if (clock.monoMs() - this.#forgottenMs < FORGET_MS) return;
    this.#forgottenMs = clock.monoMs();
    const { rows } = await run("write", statements.oldNames(FORGET_MAX));
    for (const row of rows) {
      const { region, origin, seenAtMs } = pairOf(row);
      if (await this.#hasRow(region, seenAtMs)) continue;
      await run("write", statements.forgetName(region, origin));
    }
  }

  /**
   * Not within the DELETE: MySQL would lock every row that it looks at. No index helps here, so it reads the table once for a pair
   * that is then forgotten, and once per hour at most for one that is kept.
   */
  async #hasRow(region: string, seenAtMs: number): Promise<boolean> {
    const { statements, run } = this.#options;
    for (const table of ["counters", "denials"] as const) {
      if ((await run("write", statements.rowOf(table, region, seenAtMs))).rows.length > 0) return true;
    }
    return false;
  }

  async #pairs(side: SqlSide): Promise<readonly (RegionName & { readonly isInUse: boolean })[]> {
    const { statements, run } = this.#options;
    const { rows } = await run(side, statements.sharedNames(PAIRS_MAX + 1));
    if (rows.length <= PAIRS_MAX) return rows.map(pairOf);
    const message = `more than ${PAIRS_MAX} region names share origins: give all processes that share one Redis the same region name`;
    throw new SqlFailure("region", message);
  }
}

function pairOf(row: SqlRow): RegionName & { readonly isInUse: boolean } {
  return {
    region: textOf(row["region"]),
    origin: textOf(row["origin"]),
    seenAtMs: integerOf(row["seen_at"]),
    isInUse: Number(row["is_in_use"]) === 1,
  };
}
