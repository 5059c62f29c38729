import { describe, expect, test } from "vitest";
import { sqlFailure } from "./failure.ts";

const kindOf = (message: string, code: string) =>
  sqlFailure(Object.assign(new Error(message), { code }), new Map()).kind;

describe("SQL failure", () => {
  /**
   * A frozen MariaDB accepts connections and never greets them. mysql2 gives up by itself with this error, a moment before the
   * deadline of the pool. It was counted as "other", so a database that did not answer did not show as one.
   */
  test("a connection that mysql2 gave up waiting for is a timeout", () => {
    expect(kindOf("connect ETIMEDOUT", "ETIMEDOUT")).toBe("timeout");
  });

  test("a driver may also report a timeout by its text", () => {
    expect(kindOf("timeout expired", "")).toBe("timeout");
    expect(kindOf("statement timed out", "")).toBe("timeout");
  });

  test("a refused or reset connection is not a timeout", () => {
    expect(kindOf("connect ECONNREFUSED 127.0.0.1:3306", "ECONNREFUSED")).toBe("connection");
    expect(kindOf("read ECONNRESET", "ECONNRESET")).toBe("connection");
  });
});
