import { describe, expect, test } from "vitest";
import { loadSettings } from "../../config/load-settings.ts";
import { convergenceFindings } from "./convergence-checks.ts";
import { skewFinding } from "./finding.ts";
import { dataFinding, filesFinding, nodeFinding } from "./machine-checks.ts";
import { speedFinding } from "./redis-checks.ts";

const { settings } = loadSettings({}, {});
const limits = (soft: string) =>
  `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}    20000    files\n`;

describe("the doctor", () => {
  test.each([
    ["20.19.0", "ok"],
    ["22.0.0", "ok"],
    ["20.18.9", "fail"],
    ["18.20.0", "fail"],
  ])("Node %s: %s", (version, status) => {
    expect(nodeFinding(version).status).toBe(status);
  });

  test.each([
    ["10100", "ok"],
    ["unlimited", "ok"],
    ["10099", "warn"],
    ["1024", "warn"],
  ])("%s open files for 10,000 connections: %s", (soft, status) => {
    expect(filesFinding(limits(soft), settings).status).toBe(status);
  });

  test("where the limit of open files cannot be read, it says so", () => {
    expect(filesFinding(undefined, settings)).toMatchObject({
      status: "ok",
      text: expect.stringContaining("cannot be read"),
    });
  });

  test.each([
    [0, 4, "ok"],
    [-499, 0, "ok"],
    [501, 0, "warn"],
    [-4_999, 0, "warn"],
    [5_001, 0, "fail"],
    // The round trip took so long that it may be the whole difference.
    [600, 1_200, "ok"],
  ])("a clock that is off by %i ms, asked in %i ms: %s", (skewMs, roundTripMs, status) => {
    expect(skewFinding("clock", skewMs, roundTripMs).status).toBe(status);
  });

  test.each<[string, Record<string, string>, RegExp | null]>([
    ["the defaults", {}, null],
    ["flushes of 500 ms", { SLUICE_FLUSH_MS: "500" }, /^flushMs is 500: .* up to 1000 ms/],
    ["flushes of 499 ms", { SLUICE_FLUSH_MS: "499" }, null],
    ["rounds of 15 s each", { SLUICE_PUBLISH_MS: "15s", SLUICE_IMPORT_MS: "15s" }, null],
    [
      "rounds of 31 s together",
      { SLUICE_PUBLISH_MS: "16s", SLUICE_IMPORT_MS: "15s" },
      /together are 31000 ms, more than half/,
    ],
    ["a floor of half the budget", { SLUICE_FLOOR: "0.01" }, null],
    ["a floor above it", { SLUICE_FLOOR: "0.011" }, /^floor is 0.011, above errorBudget \/ 2 = 0.01/],
    ["mode denials", { SLUICE_GLOBAL_MODE: "denials" }, /^globalMode is denials: .* R times a limit/],
    ["no time to close", { SLUICE_CLOSE_TIMEOUT_MS: "0" }, /^closeTimeoutMs is 0/],
  ])("of the settings of convergence: %s", (_, given, text) => {
    const environment = {
      SLUICE_REDIS_URL: "redis://r",
      SLUICE_SQL_URL: "mysql://db/sluice",
      SLUICE_REGION: "eu",
      ...given,
    };
    const findings = convergenceFindings(loadSettings({}, environment).settings);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject(
      text === null ? { status: "ok" } : { status: "warn", text: expect.stringMatching(text) },
    );
  });

  test("settings of layers that are not configured cause no convergence warning", () => {
    const environment = {
      SLUICE_FLUSH_MS: "1s",
      SLUICE_FLOOR: "1",
      SLUICE_CLOSE_TIMEOUT_MS: "0",
      SLUICE_PUBLISH_MS: "1m",
    };
    expect(convergenceFindings(loadSettings({}, environment).settings)).toMatchObject([{ status: "ok" }]);
  });

  test.each([
    [9, 300, "ok"],
    [10, 300, "warn"],
    [4, 8, "warn"],
    [8, 8, "fail"],
    [299, 300, "warn"],
    [300, 300, "fail"],
  ])("a Redis that answers in %i ms, with readTimeoutMs %i: %s", (ms, readTimeoutMs, status) => {
    const finding = speedFinding("redis round trip", ms, readTimeoutMs);
    expect(finding.status).toBe(status);
    if (status === "fail") expect(finding.advice).toContain(`reads time out at ${readTimeoutMs} ms`);
  });

  test("the data folder is looked at where something is kept there, and not made", async () => {
    const place = (dataDir: string, sqlUrl: string | null = null) => dataFinding({ dataDir, sqlUrl });
    expect(await place("/nowhere/at/all")).toMatchObject({ status: "ok", text: "/nowhere/at/all can be created" });
    expect(await place(`${import.meta.filename}/folder`)).toMatchObject({
      status: "fail",
      text: expect.stringContaining("ENOTDIR"),
    });
    expect(await place("x", `sqlite:${import.meta.filename}/a.db`)).toMatchObject({ status: "fail" });
    expect(await place("x", "mysql://db/sluice")).toBeNull();
    // Rights say that root may write there, and yet nothing can be made.
    expect(await place("/proc/nope")).toMatchObject({ status: "fail", text: expect.stringContaining("/proc: ") });
  });
});
