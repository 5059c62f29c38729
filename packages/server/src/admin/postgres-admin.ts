/** PostgreSQL 12 and later for the admin store, through pg. */
import { Client } from "pg";
import { LOCK_TIMEOUT_S, type SqlAddress, type SqlManner, sqlAddress } from "./sql-address.ts";
import {
  type AdminConnection,
  type AdminDialect,
  type AdminDriver,
  type FailureKind,
  LONG_TIMEOUT_MS,
  type SqlRow,
} from "./sql-link.ts";

const DIALECT: AdminDialect = {
  word: 'VARCHAR(128) COLLATE "C"',
  text: "TEXT",
  tableEnd: "",
  forUpdate: " FOR UPDATE",
  // So that a statement sees what was committed while it waited for the revision, whatever the database's default is.
  begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
  hasColumn:
    "SELECT 1 FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ? AND column_name = ?",
  hasIndex: "SELECT 1 FROM pg_indexes WHERE schemaname = current_schema() AND tablename = ? AND indexname = ?",
  beginAlone: [
    "BEGIN",
    `SET LOCAL statement_timeout = ${LONG_TIMEOUT_MS}`,
    "SELECT 1 AS taken FROM pg_advisory_xact_lock(hashtext('sluice_admin'))",
  ],
  endAlone: "COMMIT",
  undoAlone: "ROLLBACK",
};

/** SQLSTATEs. */
const KINDS: ReadonlyMap<unknown, FailureKind> = new Map([
  ["55P03", "lock"],
  ["40P01", "lock"], // a deadlock
  ["40001", "lock"],
  ["42P01", "missing"],
  ["42501", "forbidden"],
  ["25006", "forbidden"], // read only
  ["53100", "full"],
]);

export function postgresAdmin(url: string, manner: SqlManner): AdminDriver {
  const address = sqlAddress(url, 5432, manner);
  return { dialect: DIALECT, timeoutMs: manner.timeoutMs, isBlocking: false, open: () => open(address), kindOf };
}

async function open({ tls, timeoutMs, ...place }: SqlAddress): Promise<AdminConnection> {
  const client = new Client({
    ...place,
    ssl: tls === null ? false : { ...tls },
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    lock_timeout: LOCK_TIMEOUT_S * 1_000,
    application_name: "sluice",
    keepAlive: true,
  });
  // Lost while nobody uses it: that shows when somebody does.
  client.on("error", () => {});
  // To end politely takes an answer of the server's, which may be why it is given up.
  const destroy = () => {
    const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection;
    stream.destroy();
  };
  try {
    await client.connect();
  } catch (error) {
    destroy();
    throw error;
  }
  return {
    run: async (text, ...values) => {
      const result = await client.query({ text: numbered(text), values });
      return result.rows as SqlRow[];
    },
    destroy,
  };
}

/** A question mark for each value becomes $1, $2, … */
function numbered(text: string): string {
  let count = 0;
  return text.replaceAll("?", () => `$${++count}`);
}

function kindOf(error: unknown): FailureKind {
  return KINDS.get((error as { code?: unknown }).code) ?? "away";
}
