/** A database server for the admin store: MySQL, MariaDB or PostgreSQL, through the driver that the counters use, too. */
import { loadMysql, loadPostgres, type SqlAddress, type SqlConnection, type SqlDriver } from "sluice/internal";
import { adminDialect, LOCK_TIMEOUT_S } from "./admin-dialect.ts";
import { sqlAddress } from "./sql-address.ts";
import { type AdminConnection, type AdminDriver, failureKind } from "./sql-link.ts";

export interface SqlManner {
  readonly tls: SqlAddress["tls"];
  /** What a connection, sign-in included, and each statement may take, before the connection is given up. */
  readonly timeoutMs: number;
}

export async function mysqlAdmin(url: string, manner: SqlManner): Promise<AdminDriver> {
  return serverAdmin(await loadMysql(), sqlAddress(url, 3306, manner.tls), manner.timeoutMs);
}

export async function postgresAdmin(url: string, manner: SqlManner): Promise<AdminDriver> {
  return serverAdmin(await loadPostgres(), sqlAddress(url, 5432, manner.tls), manner.timeoutMs);
}

function serverAdmin(driver: SqlDriver, address: SqlAddress, timeoutMs: number): AdminDriver {
  const times = {
    connectTimeoutMs: timeoutMs,
    statementTimeoutMs: timeoutMs,
    lockTimeoutMs: LOCK_TIMEOUT_S * 1_000,
  };
  return {
    dialect: adminDialect(driver.dialect),
    timeoutMs,
    isBlocking: false,
    open: async () => adminConnection(await driver.open(address, times), driver),
    kindOf: (error) => failureKind(driver.failureOf(error).kind),
  };
}

function adminConnection(connection: SqlConnection, driver: SqlDriver): AdminConnection {
  return {
    run: async (text, ...values) => {
      try {
        return (await connection.run({ text, values })).rows;
      } catch (error) {
        if (driver.failureOf(error).kind !== "packet") throw error;
        // The server's own words name the setting, and not what to do.
        const message = "the change is larger than max_allowed_packet of the database: set it to 1 MiB or more";
        throw new Error(message, { cause: error });
      }
    },
    destroy: () => connection.destroy(),
  };
}
