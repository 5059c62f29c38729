/** Without a server: invalid options, and the kinds of failures. */
import type { SluiceError } from "sluice";
import { type MysqlOptions, mysqlCounters } from "sluice/mysql";
import { type PostgresOptions, postgresCounters } from "sluice/postgres";
import { type SqliteOptions, sqliteCounters } from "sluice/sqlite";
import { describe, expect, test } from "vitest";
import { mysqlFailure } from "../../packages/sluice/src/global/sql/mysql/connection.ts";
import { postgresFailure } from "../../packages/sluice/src/global/sql/postgres/connection.ts";
import { sqliteFailure } from "../../packages/sluice/src/global/sql/sqlite/database.ts";

describe("failures by kind", () => {
  const coded = (fields: object) => Object.assign(new Error("x"), fields);

  test.each([
    [{ errno: 1213 }, "deadlock"],
    [{ errno: 1205 }, "lock"],
    [{ errno: 1290 }, "readonly"],
    [{ errno: 1142 }, "permission"],
    [{ errno: 4025 }, "refused"],
    [{ errno: 1153 }, "packet"],
    [{ errno: 1114 }, "full"],
    [{ code: "PROTOCOL_CONNECTION_LOST" }, "connection"],
    [{ errno: -111, code: "ECONNREFUSED" }, "connection"],
    [{ errno: 9999 }, "other"],
  ])("mysql: %j is %s", (fields, kind) => {
    expect(mysqlFailure(coded(fields)).kind).toBe(kind);
  });

  test.each([
    ["40P01", "deadlock"],
    ["55P03", "lock"],
    ["25006", "readonly"],
    ["42501", "permission"],
    ["22001", "refused"],
    ["23514", "refused"],
    ["57014", "timeout"],
    ["57P01", "connection"],
    ["53100", "full"],
    ["XX000", "other"],
  ])("postgres: %s is %s", (code, kind) => {
    expect(postgresFailure(coded({ code })).kind).toBe(kind);
  });

  test.each([
    [{ errcode: 5 }, "lock"],
    [{ errcode: 517 }, "lock"],
    [{ errcode: 275 }, "refused"],
    [{ errcode: 8 }, "readonly"],
    [{ code: "SQLITE_BUSY_SNAPSHOT" }, "lock"],
    [{ code: "SQLITE_CONSTRAINT_CHECK" }, "refused"],
    [{ code: "SQLITE_FULL" }, "full"],
  ])("sqlite: %j is %s", (fields, kind) => {
    expect(sqliteFailure(coded(fields)).kind).toBe(kind);
  });
});

describe("options", () => {
  const CHOICE = "an object with exactly one of url, host and pool";
  const URL_RULE = 'a URL that begins with "mysql://" or "mariadb://", names a host and has no parameters';

  test.each([
    [{}, "options", CHOICE, '"none"'],
    [{ url: "mysql://h", host: "h" }, "options", CHOICE, '"url and host"'],
    [{ url: "localhost:3306" }, "url", URL_RULE, '"localhost://…"'],
    [{ url: "postgres://h/d" }, "url", URL_RULE, '"postgres://…"'],
    [{ url: "mysql://h/d?ssl=true" }, "url", URL_RULE, '"a URL with parameters: pass them as options"'],
    [{ host: "" }, "host", "a non-empty string", '""'],
    [{ host: "h", port: 70_000 }, "port", "an integer from 1 to 65535", "70000"],
    [{ pool: {} }, "pool", "a pool of mysql2/promise", "an object"],
    [{ host: "h", read: { url: "http://h" } }, "read.url", URL_RULE, '"http://…"'],
  ])("the address %j is refused with the rule of %s alone", (options, field, rule, shown) => {
    const message = `${field} must be ${rule}; got ${shown} (RL_SQL_ADDRESS_INVALID)`;
    expect(() => mysqlCounters(options as MysqlOptions)).toThrow(
      expect.objectContaining({ name: "SluiceError", code: "RL_SQL_ADDRESS_INVALID", field, message }),
    );
  });

  test("an address of PostgreSQL is refused with its own rules", () => {
    const url =
      'url must be a URL that begins with "postgres://" or "postgresql://", names a host and has no parameters';
    expect(() => postgresCounters({ url: "mysql://h" })).toThrow(`${url}; got "mysql://…" (RL_SQL_ADDRESS_INVALID)`);
    const pool = "pool must be a pool of pg; got an object (RL_SQL_ADDRESS_INVALID)";
    expect(() => postgresCounters({ pool: {} } as PostgresOptions)).toThrow(pool);
  });

  const TIMEOUT = "a number of milliseconds from 10 to 60000";
  const TLS = "true, false or an object of TLS options";
  const PREFIX = "a string of 1 to 32 of the characters a-z, 0-9 and _ that does not begin with a digit";

  test.each([
    [{ host: "h", user: 5 }, "user", "a string", "5"],
    [{ host: "h", password: 5 }, "password", "a string", '"number"'],
    [{ host: "h", database: null }, "database", "a string", "null"],
    [{ host: "h", tls: "yes" }, "tls", TLS, '"yes"'],
    [{ host: "h", read: { host: "h", tls: 1 } }, "read.tls", TLS, "1"],
    [{ host: "h", read: { host: "h", password: 5 } }, "read.password", "a string", '"number"'],
    [{ host: "h", connectTimeoutMs: 60_001 }, "connectTimeoutMs", TIMEOUT, "60001"],
    [{ host: "h", statementTimeoutMs: 0 }, "statementTimeoutMs", TIMEOUT, "0"],
    [{ host: "h", migrate: "no" }, "migrate", "true or false", '"no"'],
    [{ host: "h", tablePrefix: "a; drop" }, "tablePrefix", PREFIX, '"a; drop"'],
    [{ host: "h", tablePrefix: "1a" }, "tablePrefix", PREFIX, '"1a"'],
  ])("%j is refused with the rule of %s alone", (options, field, rule, shown) => {
    const message = `${field} must be ${rule}; got ${shown} (RL_SQL_OPTION_INVALID)`;
    expect(() => mysqlCounters(options as MysqlOptions)).toThrow(
      expect.objectContaining({ name: "SluiceError", code: "RL_SQL_OPTION_INVALID", field, message }),
    );
  });

  test.each([
    [{ host: "h", usr: "x" }, "options"],
    [{ host: "h", read: { hots: "x" } }, "read"],
  ])("%j is refused as an unknown option of %s", (options, field) => {
    expect(() => mysqlCounters(options as MysqlOptions)).toThrow(
      expect.objectContaining({ name: "SluiceError", code: "RL_OPTIONS_INVALID", field }),
    );
  });

  test.each([
    [{}, "options", "an object with exactly one of path and database", '"none"'],
    [{ path: "a", database: {} }, "options", "an object with exactly one of path and database", '"path and database"'],
    [{ path: "" }, "path", "the path of a file, a non-empty string", '""'],
    [{ database: {} }, "database", "a database of node:sqlite, libsql or better-sqlite3", "an object"],
  ])("sqlite: %j is refused with the rule of %s alone", (options, field, rule, shown) => {
    const message = `${field} must be ${rule}; got ${shown} (RL_SQL_ADDRESS_INVALID)`;
    expect(() => sqliteCounters(options as SqliteOptions)).toThrow(
      expect.objectContaining({ code: "RL_SQL_ADDRESS_INVALID", field, message }),
    );
  });

  test("no message ever shows a password", () => {
    for (const url of ["http://u:hunter2@h", "mysql//u:hunter2@h", "mysql://u:hunter2@h/d?x=1"]) {
      try {
        mysqlCounters({ url });
        expect.unreachable();
      } catch (error) {
        expect((error as SluiceError).message).not.toContain("hunter2");
      }
    }
  });
});
