/**
 * How statements reach a database: one connection or a pool of them, with a deadline on everything.
 *
 * Invariant: nothing a caller made up stands in a statement's text; values are bound. A statement is sent once: whether it is
 * worth sending again is decided in sql-counters.ts. All of them are re-sendable, because counts are absolute.
 */

export type SqlValue = string | number | null | Uint8Array | readonly (string | number | Uint8Array)[];

export interface Statement {
  /** With a question mark for each value. */
  readonly text: string;
  readonly values: readonly SqlValue[];
}

export type SqlRow = Readonly<Record<string, unknown>>;

export interface SqlAnswer {
  readonly rows: readonly SqlRow[];
  /** How many rows were written or deleted. */
  readonly affected: number;
}

/** Where counts are written, and where they are read: the same server, or a replica of it. */
export type SqlSide = "write" | "read";

export type RunStatement = (statement: Statement) => Promise<SqlAnswer>;

export interface SqlLink {
  /** Whether imports are read from another server than counts are written to. */
  readonly hasReplica: boolean;
  /** Runs one statement by itself; rejects with a SqlFailure. */
  run(side: SqlSide, statement: Statement): Promise<SqlAnswer>;
  /** Runs several on one connection of the write side while holding a lock of this name; undone on failure where possible. */
  alone<T>(lock: string, work: (run: RunStatement) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
