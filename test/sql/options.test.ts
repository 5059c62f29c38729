/** What needs no server: options that cannot be meant, and failures told apart. */
import type { SluiceError } from "sluice";
import { type MysqlOptions, mysqlCounters } from "sluice/mysql";
import { type SqliteOptions, sqliteCounters } from "sluice/sqlite";
import { describe, expect, test } from "vitest";
import { mysqlFailure } from "../../packages/sluice/src/global/sql/mysql/pool.ts";
import { postgresFailure } from "../../packages/sluice/src/global/sql/postgres/pool.ts";
import { sqliteFailure } from "../../packages/sluice/src/global/sql/sqlite/link.ts";

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
  test.each([
    [{}, "RL_SQL_ADDRESS_INVALID", "options"],
    [{ url: "localhost:3306" }, "RL_SQL_ADDRESS_INVALID", "url"],
    [{ url: "postgres://h/d" }, "RL_SQL_ADDRESS_INVALID", "url"],
    [{ url: "mysql://h/d?ssl=true" }, "RL_SQL_ADDRESS_INVALID", "url"],
    [{ url: "mysql://h", host: "h" }, "RL_SQL_ADDRESS_INVALID", "options"],
    [{ host: "" }, "RL_SQL_ADDRESS_INVALID", "host"],
    [{ host: "h", port: 70_000 }, "RL_SQL_ADDRESS_INVALID", "port"],
    [{ pool: {} }, "RL_SQL_ADDRESS_INVALID", "pool"],
    [{ host: "h", read: { url: "http://h" } }, "RL_SQL_ADDRESS_INVALID", "read.url"],
    [{ host: "h", password: 5 }, "RL_SQL_OPTION_INVALID", "password"],
    [{ host: "h", tls: "yes" }, "RL_SQL_OPTION_INVALID", "tls"],
    [{ host: "h", tablePrefix: "a; drop" }, "RL_SQL_OPTION_INVALID", "tablePrefix"],
    [{ host: "h", statementTimeoutMs: 0 }, "RL_SQL_OPTION_INVALID", "statementTimeoutMs"],
    [{ host: "h", migrate: "no" }, "RL_SQL_OPTION_INVALID", "migrate"],
    [{ host: "h", usr: "x" }, "RL_OPTIONS_INVALID", "options"],
    [{ host: "h", read: { hots: "x" } }, "RL_OPTIONS_INVALID", "read"],
  ])("%j is refused with %s, which names %s", (options, code, field) => {
    expect(() => mysqlCounters(options as MysqlOptions)).toThrowError(
      expect.objectContaining({ name: "SluiceError", code, field }),
    );
  });

  test.each([
    [{}, "options"],
    [{ path: "" }, "path"],
    [{ database: {} }, "database"],
    [{ path: "a", database: {} }, "options"],
  ])("sqlite: %j is refused, which names %s", (options, field) => {
    expect(() => sqliteCounters(options as SqliteOptions)).toThrowError(
      expect.objectContaining({ code: "RL_SQL_ADDRESS_INVALID", field }),
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
