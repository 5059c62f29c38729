/** MySQL 8 and MariaDB 10.5 and later for the admin store, through mysql2, by prepared statements only. */
import { createConnection } from "mysql2/promise";
import { LOCK_TIMEOUT_S, type SqlAddress, type SqlManner, sqlAddress } from "./sql-address.ts";
import type { AdminConnection, AdminDialect, AdminDriver, FailureKind, SqlRow } from "./sql-link.ts";

/** Locks belong to the whole server: one a database. */
const LOCK_NAME = "CONCAT('sluice:', MD5(DATABASE()))";

const DIALECT: AdminDialect = {
  // Compared byte by byte. No id or hash ends with a blank, which this collation would not see.
  word: "VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin",
  text: "MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin",
  tableEnd: "ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
  forUpdate: " FOR UPDATE",
  begin: "START TRANSACTION",
  hasColumn:
    "SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ?",
  hasIndex:
    "SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?",
  beginAlone: [`SELECT GET_LOCK(${LOCK_NAME}, ${LOCK_TIMEOUT_S}) AS taken`],
  endAlone: `DO RELEASE_LOCK(${LOCK_NAME})`,
  undoAlone: `DO RELEASE_LOCK(${LOCK_NAME})`,
};

const KINDS: ReadonlyMap<number, FailureKind> = new Map([
  [1205, "lock"],
  [1213, "lock"], // a deadlock
  [1020, "lock"], // MariaDB: the record has changed since it was read
  [1146, "missing"],
  [1142, "forbidden"],
  [1044, "forbidden"],
  [1227, "forbidden"],
  [1290, "forbidden"], // read only
  [1836, "forbidden"],
  [1021, "full"], // the disk
  [1114, "full"], // the table
]);

const PACKET_TOO_LARGE = 1153;

export function mysqlAdmin(url: string, manner: SqlManner): AdminDriver {
  const address = sqlAddress(url, 3306, manner);
  return { dialect: DIALECT, timeoutMs: manner.timeoutMs, isBlocking: false, open: () => open(address), kindOf };
}

async function open({ tls, timeoutMs, user, password, ...place }: SqlAddress): Promise<AdminConnection> {
  const connection = await createConnection({
    ...place,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(tls === null ? {} : { ssl: { ...tls } }),
    charset: "utf8mb4",
    connectTimeout: timeoutMs,
    enableKeepAlive: true,
  });
  // Lost while nobody uses it: that shows when somebody does.
  connection.on("error", () => {});
  const run: AdminConnection["run"] = async (sql, ...values) => {
    // Transactions and locks are not for the prepared protocol everywhere, and have no values.
    const [rows] = await (values.length === 0 ? connection.query(sql) : connection.execute(sql, values)).catch(
      explained,
    );
    return Array.isArray(rows) ? (rows as SqlRow[]) : [];
  };
  // Sent ahead of everything else on the connection. If it fails, so does what follows.
  run(`SET SESSION innodb_lock_wait_timeout = ${LOCK_TIMEOUT_S}`).catch(() => {});
  return { run, destroy: () => connection.destroy() };
}

/** The server's own words name the setting, and not what to do. */
function explained(error: unknown): never {
  if ((error as { errno?: unknown }).errno !== PACKET_TOO_LARGE) throw error;
  throw new Error("the change is larger than max_allowed_packet of the database: set it to 1 MiB or more", {
    cause: error,
  });
}

function kindOf(error: unknown): FailureKind {
  const { errno } = error as { errno?: unknown };
  return (typeof errno === "number" ? KINDS.get(errno) : undefined) ?? "away";
}
