/** PostgreSQL through pg: how a connection is made, how it answers, and what its errors mean. */
import { Client, type ClientConfig } from "pg";
import type { SqlConnection, SqlDriver, SqlTimes } from "../driver.ts";
import { type SqlFailure, type SqlFailureKind, sqlFailure } from "../failure.ts";
import type { RunStatement, SqlRow } from "../link.ts";
import type { SqlAddress } from "../url.ts";
import { POSTGRES } from "./dialect.ts";

/** What a client of pg and one out of a pool have in common. */
interface Queryable {
  query(config: { readonly text: string; readonly values: unknown[] }): Promise<unknown>;
}

/** SQLSTATEs, and classes of them. */
const KINDS: ReadonlyMap<string, SqlFailureKind> = new Map(
  Object.entries({
    "08": "connection",
    "57P01": "connection", // the server shuts down
    "57P02": "connection",
    "57P03": "connection", // it starts
    "53300": "connection", // too many connections
    "57014": "timeout",
    "28": "auth",
    "3D": "auth", // no such database
    "42501": "permission",
    "42P01": "schema",
    "42703": "schema",
    "3F000": "schema",
    "40P01": "deadlock",
    "40001": "deadlock",
    "55P03": "lock",
    "25006": "readonly",
    "53100": "full",
    "22": "refused",
    "23": "refused",
    P0001: "refused", // a trigger's RAISE
  } as const),
);

export function postgresFailure(error: unknown): SqlFailure {
  return sqlFailure(error, KINDS);
}

export function postgresConfig(address: SqlAddress, times: SqlTimes): ClientConfig {
  const { host, port, user, password, database, tls } = address;
  return {
    host,
    port,
    user,
    password,
    database,
    ssl: tls === null ? false : { ...tls },
    connectionTimeoutMillis: times.connectTimeoutMs,
    statement_timeout: times.statementTimeoutMs,
    lock_timeout: times.lockTimeoutMs,
    application_name: "sluice",
    keepAlive: true,
  };
}

export function runOn(client: Queryable): RunStatement {
  return async ({ text, values }) => {
    const result = await client.query({ text: numbered(text), values: values.map(boundOf) });
    const { rows, rowCount } = result as { readonly rows: readonly SqlRow[]; readonly rowCount: number | null };
    return { rows, affected: rowCount ?? 0 };
  };
}

/** At once: to end a client politely takes an answer of the server, which may be why it is given up. */
export function destroyClient(client: object): void {
  (client as { readonly connection?: { stream?: { destroy?(): void } } }).connection?.stream?.destroy?.();
}

const texts = new Map<string, string>();
const TEXTS_MAX = 256;

/** A question mark for each value becomes $1, $2, … */
function numbered(text: string): string {
  let known = texts.get(text);
  if (known === undefined) {
    let count = 0;
    known = text.replaceAll("?", () => `$${++count}`);
    if (texts.size < TEXTS_MAX) texts.set(text, known);
  }
  return known;
}

/** pg takes bytes as a Buffer only, also within an array. */
function boundOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(boundOf);
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

async function open(address: SqlAddress, times: SqlTimes): Promise<SqlConnection> {
  const client = new Client(postgresConfig(address, times));
  // A connection that is lost while it is idle fails when it is used next.
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    destroyClient(client);
    throw error;
  }
  return { run: runOn(client), destroy: () => destroyClient(client) };
}

export const POSTGRES_DRIVER: SqlDriver = { dialect: POSTGRES, open, failureOf: postgresFailure };
