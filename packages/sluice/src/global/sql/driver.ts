/**
 * Adapter over one database driver, for one connection at a time: what the admin store of the server works with (`sluice/internal`). The
 * counters use pools of the same drivers (pool.ts).
 */
import type { SqlDialect } from "./dialect.ts";
import type { SqlFailure } from "./failure.ts";
import type { RunStatement } from "./link.ts";
import type { SqlAddress } from "./url.ts";

export interface SqlTimes {
  /** Maximum time to connect and authenticate. */
  readonly connectTimeoutMs: number;
  /** Timeout of a statement, where the server can keep it. The caller keeps one of its own: drivers' have gaps. */
  readonly statementTimeoutMs: number;
  /** How long a statement waits for locks of others. */
  readonly lockTimeoutMs: number;
}

export interface SqlConnection {
  readonly run: RunStatement;
  /** At once, without a last message to the server. */
  destroy(): void;
}

export interface SqlDriver {
  readonly dialect: SqlDialect;
  /** Rejects with the driver's own error. */
  open(address: SqlAddress, times: SqlTimes): Promise<SqlConnection>;
  /** The failure that an error of the driver stands for. */
  failureOf(error: unknown): SqlFailure;
}
