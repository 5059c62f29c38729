import { describe, expect, test } from "vitest";
import { readSqlUrl } from "./url.ts";

describe("SQL URL", () => {
  test("has its parts decoded, and an IPv6 address without brackets", () => {
    expect(readSqlUrl("postgres://a%40b:p%2Fw@[::1]:6432/my%20db?ssl=1")).toEqual({
      protocol: "postgres:",
      host: "::1",
      port: 6432,
      user: "a@b",
      password: "p/w",
      database: "my db",
      hasParameters: true,
    });
  });

  test("what is not in it is undefined", () => {
    expect(readSqlUrl("mysql://db")).toEqual({ protocol: "mysql:", host: "db", hasParameters: false });
    expect(readSqlUrl("mysql://db/")).toEqual({ protocol: "mysql:", host: "db", hasParameters: false });
  });

  test.each(["", "localhost", 5, null, undefined, "mysql://%zz@db/x", "mysql://u:%e0@db/x", "mysql://u@db/%"])(
    "%j is not a SQL URL",
    (url) => {
      expect(readSqlUrl(url)).toBeNull();
    },
  );
});
