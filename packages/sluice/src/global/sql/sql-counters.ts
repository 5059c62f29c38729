/**
 * Global counters on SQL: what the port asks for, as statements, whatever the database.
 *
 * Invariant: nothing here lowers a count. Every statement is re-sendable, so one whose fate is unknown is simply sent again,
 * here (a deadlock, a lock, a lost connection) or by the next round.
 *
 * A row that the server does not take, or that is larger than its packets, is found by halving, and set aside until it expires; its
 * neighbours go through. The
 * rhythm, deadlines of whole rounds and what to publish are the global layer's.
 */
import type { Environment } from "../../core/clock.ts";
import { inTurns, nextTurn, pause } from "../../core/turns.ts";
import type {
  CounterRow,
  Counters,
  CountersHealth,
  DenialRow,
  Denials,
  DeniedCell,
  ImportedCell,
  ImportPage,
  Registration,
} from "../counters.ts";
import type { SqlDialect } from "./dialect.ts";
import { BROKEN, PASSING, SqlFailure } from "./failure.ts";
import type { SqlAnswer, SqlLink, SqlRow, SqlSide, Statement } from "./link.ts";
import { ensureSchema } from "./migration.ts";
import { SqlNames } from "./names.ts";
import { deniedCellOf, importedCellOf, SqlPages } from "./pages.ts";
import { Quarantine } from "./quarantine.ts";
import { bytesOf, compareRows, escapeText, integerOf, keyOfRow, regionOf, type StoredRow, storedRow } from "./row.ts";
import { type Tables, tablesOf } from "./schema.ts";
import { SqlStatements } from "./statements.ts";

export interface SqlCountersSettings {
  readonly tablePrefix: string;
  /** Whether missing tables are made at the start. */
  readonly migrate: boolean;
  /** For how long a change is read again: one that was begun before another may be seen after it. */
  readonly overlapMs: number;
}

/**
 * Rows of one statement. Long ones, of 6 kB each at most, fit the packet that a server takes by default (16 MB); where it was set to less, a
 * statement is halved until it fits. And a driver has 2,304 values to put into it, in one turn of the event loop. With 512 rows the first such turn took 25 ms.
 */
const ROWS_MAX = 256;
/** Up to so many rows are hashed, sorted and sent in one turn of the event loop. */
const ROWS_SMALL = 128;
/** A region is heard of this often at least; it counts as live for a minute. */
const REGISTER_MS = 10_000;
/** A schema that will not do is looked at again after this. */
const RECHECK_MS = 2_000;
const RETRIES_MAX = 6;
const RETRY_MS = 5;
/** Rows of the denial channel in one statement: as many as the cells of a page. */
const DENIALS_MAX = 1_000;

/** A kind of rows, and how they are written. */
interface Writing {
  statementOf(rows: readonly StoredRow[]): Statement;
  readonly quarantine: Quarantine;
}

export class SqlCounters implements Counters {
  readonly denials: Denials;
  readonly #link: SqlLink;
  readonly #dialect: SqlDialect;
  readonly #settings: SqlCountersSettings;
  readonly #environment: Environment;
  readonly #tables: Tables;
  readonly #statements: SqlStatements;
  readonly #names: SqlNames;
  readonly #pages: SqlPages<ImportedCell>;
  readonly #denialPages: SqlPages<DeniedCell>;
  readonly #counting: Writing;
  readonly #denying: Writing;
  readonly #failures = new Map<string, number>();
  /** When each region was last registered from here, on the monotonic clock. */
  readonly #registeredMs = new Map<string, number>();
  /** This process, as the holder of a turn. */
  readonly #holder: string;
  #ready: Promise<void> | null = null;
  #isReady = false;
  #recheckMs = 0;
  #sent = 0;
  #retries = 0;
  #junk = 0;
  /** The size of a statement that the server takes, as far as it was found out: it says so only of one that is too large. */
  #bytesMax = Number.POSITIVE_INFINITY;
  #lastFailure: SqlFailure | null = null;
  #isClosed = false;

  constructor(link: SqlLink, dialect: SqlDialect, settings: SqlCountersSettings, environment: Environment) {
    this.#link = link;
    this.#dialect = dialect;
    this.#settings = settings;
    this.#environment = environment;
    this.#tables = tablesOf(settings.tablePrefix);
    const statements = new SqlStatements(dialect, this.#tables);
    this.#statements = statements;
    const { clock } = environment;
    this.#names = new SqlNames({ statements, clock, run: (side, statement) => this.#run(side, statement) });
    const reading = {
      statements,
      names: this.#names,
      timers: environment.timers,
      run: (statement: Statement) => this.#run("read", statement),
      hasReplica: link.hasReplica,
      overlapMs: settings.overlapMs,
    };
    this.#pages = new SqlPages({ ...reading, table: "counters", cellOf: importedCellOf });
    this.#denialPages = new SqlPages({ ...reading, table: "denials", cellOf: deniedCellOf });
    this.#counting = {
      statementOf: (rows) => statements.raise("counters", rows),
      quarantine: new Quarantine(),
    };
    this.#denying = {
      statementOf: (rows) => statements.raise("denials", rows),
      quarantine: new Quarantine(),
    };
    const { random } = environment;
    this.#holder = Array.from({ length: 4 }, () => random.uint32().toString(16).padStart(8, "0")).join("");
    this.denials = {
      write: (region, rows) => this.#deny(region, rows),
      read: (region, cursor) => this.#counted(this.#denialPages.read(region, cursor)),
      active: (nowMs) => this.#activeDenials(nowMs),
    };
  }

  async publish(region: string, rows: readonly CounterRow[]): Promise<void> {
    const { monoMs } = this.#environment.clock;
    const stored: StoredRow[] = [];
    await inTurns(rows, this.#environment.timers, (row) => {
      stored.push(storedRow(region, row, row.count, row.isCharged === true ? 1 : 0));
    });
    await this.#write(stored, this.#counting);
    const registeredMs = this.#registeredMs.get(region);
    if (registeredMs !== undefined && monoMs() - registeredMs < REGISTER_MS) return;
    await this.#run("write", this.#statements.register(escapeText(region)));
    this.#registeredMs.set(region, monoMs());
  }

  read(region: string, cursor: string | null): Promise<ImportPage> {
    return this.#counted(this.#pages.read(region, cursor));
  }

  async cleanUp(nowMs: number, rowsMax: number): Promise<number> {
    let holder: unknown;
    for (const statement of this.#statements.turn(this.#holder)) {
      holder = (await this.#run("write", statement)).rows[0]?.["holder"];
    }
    if (holder !== this.#holder) return 0;
    let deleted = 0;
    for (const table of ["counters", "denials"] as const) {
      if (deleted >= rowsMax) break;
      deleted += (await this.#run("write", this.#statements.deleteExpired(table, Math.floor(nowMs), rowsMax - deleted)))
        .affected;
    }
    await this.#run("write", this.#statements.forgetRegions());
    await this.#names.forgetOnce();
    return deleted;
  }

  async register(region: string, origin: string): Promise<Registration> {
    const registration = await this.#counted(this.#names.register(region, origin));
    if (registration.conflict !== null) this.#count(new SqlFailure("region", registration.conflict));
    return registration;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#link.close();
  }

  health(): CountersHealth {
    const last = this.#lastFailure;
    return {
      isReady: this.#isReady,
      statements: this.#sent,
      retries: this.#retries,
      quarantined: this.#counting.quarantine.size + this.#denying.quarantine.size,
      junk: this.#junk + this.#pages.junk + this.#denialPages.junk,
      failures: Object.fromEntries(this.#failures),
      lastFailure: last === null ? null : { kind: last.kind, message: last.message },
    };
  }

  #deny(region: string, rows: readonly DenialRow[]): Promise<void> {
    const stored = rows.map((row) => storedRow(region, row, row.limit, null));
    return this.#write(stored, this.#denying);
  }

  async #activeDenials(nowMs: number): Promise<readonly DenialRow[]> {
    const denials: DenialRow[] = [];
    let last: SqlRow | null = null;
    for (let length = DENIALS_MAX; length === DENIALS_MAX; ) {
      const { rows } = await this.#run("read", this.#statements.denials(Math.floor(nowMs), last, DENIALS_MAX));
      await nextTurn(this.#environment.timers);
      await inTurns(rows, this.#environment.timers, (row) => {
        const denial = denialOf(row);
        if (denial === null) this.#junk++;
        else denials.push(denial);
      });
      length = rows.length;
      last = rows.at(-1) ?? null;
    }
    return denials;
  }

  /** Sends rows in the order of the primary key, in chunks of so many rows and bytes. */
  async #write(rows: readonly StoredRow[], writing: Writing): Promise<void> {
    const { quarantine } = writing;
    quarantine.sweep(this.#environment.clock.wallMs());
    const due = distinct(rows.filter((row) => !quarantine.holds(row)));
    for (let at = 0; at < due.length; ) {
      // To put so many rows into a driver's packet is a turn's work by itself.
      if (due.length > ROWS_SMALL) await nextTurn(this.#environment.timers);
      const end = this.#endOfChunk(due, at);
      await this.#send(due.slice(at, end), writing);
      at = end;
    }
  }

  /** At least one row: whether the server takes that is the server's to say. */
  #endOfChunk(rows: readonly StoredRow[], at: number): number {
    let end = at;
    let bytes = 0;
    while (end < rows.length && end - at < ROWS_MAX) {
      bytes += bytesOf(rows[end]!);
      if (bytes > this.#bytesMax && end > at) break;
      end++;
    }
    return end;
  }

  async #send(rows: readonly StoredRow[], writing: Writing): Promise<void> {
    try {
      await this.#run("write", writing.statementOf(rows));
    } catch (error) {
      if (!(error instanceof SqlFailure) || !(error.kind === "refused" || error.kind === "packet")) throw error;
      // What is sent later is split before it is sent. Half of what was too much is at least half of what the server takes.
      if (error.kind === "packet" && rows.length > 1) {
        this.#bytesMax = rows.reduce((sum, row) => sum + bytesOf(row), 0) / 2;
      }
      if (rows.length === 1) {
        writing.quarantine.add(rows[0]!);
        return;
      }
      const half = rows.length >> 1;
      await this.#send(rows.slice(0, half), writing);
      await this.#send(rows.slice(half), writing);
    }
  }

  /** Runs a statement, again if it was in the way of another or its connection is gone. */
  async #run(side: SqlSide, statement: Statement): Promise<SqlAnswer> {
    for (let tries = 0; ; tries++) {
      try {
        if (this.#isClosed) throw new SqlFailure("connection", "closed");
        await this.#prepare();
        this.#sent++;
        return await this.#link.run(side, statement);
      } catch (error) {
        const failure = error instanceof SqlFailure ? error : new SqlFailure("other", String(error));
        const { kind } = failure;
        // Whoever dropped the tables may have meant it; whether they are wanted again is asked for anew.
        if (kind === "schema") this.#ready = null;
        const isWorth = PASSING.has(kind) ? tries < RETRIES_MAX : BROKEN.has(kind) && kind !== "timeout" && tries === 0;
        if (!isWorth || this.#isClosed) {
          this.#count(failure);
          throw failure;
        }
        this.#retries++;
        await this.#pause(tries);
      }
    }
  }

  /** Looks at the schema once; again after a while if it will not do. */
  #prepare(): Promise<void> {
    const { clock } = this.#environment;
    if (this.#ready !== null && (this.#isReady || clock.monoMs() < this.#recheckMs)) return this.#ready;
    this.#isReady = false;
    this.#recheckMs = clock.monoMs() + RECHECK_MS;
    const { migrate } = this.#settings;
    const ready = ensureSchema(this.#link, this.#dialect, this.#tables, migrate).then(() => {
      this.#isReady = true;
    });
    // A server that is away is no answer: the next statement asks again.
    ready.catch((error: unknown) => {
      if (error instanceof SqlFailure && error.kind !== "schema") this.#ready = null;
    });
    this.#ready = ready;
    return ready;
  }

  #pause(tries: number): Promise<void> {
    const { timers, random } = this.#environment;
    const delayMs = RETRY_MS * 2 ** tries * (0.5 + random.uint32() / 2 ** 32);
    return pause(timers, delayMs);
  }

  /** Counts a failure that no statement has: one of region names. */
  async #counted<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof SqlFailure && error.kind === "region") this.#count(error);
      throw error;
    }
  }

  /** One that was given up: what went through when it was sent again is no failure, and no line in anybody's log. */
  #count(failure: SqlFailure): void {
    this.#failures.set(failure.kind, (this.#failures.get(failure.kind) ?? 0) + 1);
    this.#lastFailure = failure;
  }
}

function denialOf(row: SqlRow): DenialRow | null {
  const key = keyOfRow(row);
  const sequence = integerOf(row["sequence"]);
  const limit = integerOf(row["limit_count"]);
  const expiresAtMs = integerOf(row["expires_at"]);
  if (key === null || Number.isNaN(sequence + limit + expiresAtMs)) return null;
  return { key, sequence, limit, expiresAtMs, region: regionOf(row["region"]) };
}

/** One row per cell, with the largest amount; in the order of the primary key. */
function distinct(rows: readonly StoredRow[]): readonly StoredRow[] {
  const sorted = [...rows].sort(compareRows);
  const kept: StoredRow[] = [];
  for (const row of sorted) {
    const last = kept.at(-1);
    if (last === undefined || compareRows(last, row) !== 0) kept.push(row);
    else kept[kept.length - 1] = largerOf(last, row);
  }
  return kept;
}

/** Of two rows of one cell: the larger amount, and what either says. */
function largerOf(a: StoredRow, b: StoredRow): StoredRow {
  const larger = b.amount > a.amount ? b : a;
  return a.charged === 1 || b.charged === 1 ? { ...larger, charged: 1 } : larger;
}
