/** The databases that are measured: how each is started, and how counters on it are opened. */
import type { Counters } from "sluice";
import { mysqlCounters } from "sluice/mysql";
import { postgresCounters } from "sluice/postgres";
import { MariadbServer } from "../../../test/rig/mariadb-server.ts";
import { PostgresServer } from "../../../test/rig/postgres-server.ts";

export interface SqlServer {
  readonly process: MariadbServer["process"];
  url(): string;
  ask(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  stop(): Promise<void>;
}

export interface StoreOptions {
  readonly tablePrefix?: string;
  readonly statementTimeoutMs?: number;
}

export interface SqlStore {
  readonly name: string;
  start(): Promise<SqlServer>;
  open(server: SqlServer, options?: StoreOptions): Counters;
}

export const STORES: readonly SqlStore[] = [
  {
    name: "MariaDB",
    start: () => MariadbServer.start(["--innodb-buffer-pool-size=1G"]),
    open: (server, options) => mysqlCounters({ url: server.url(), ...options }),
  },
  {
    name: "PostgreSQL",
    start: () => PostgresServer.start(["shared_buffers=256MB"]),
    open: (server, options) => postgresCounters({ url: server.url(), ...options }),
  },
];
