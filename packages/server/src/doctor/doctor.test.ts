import { describe, expect, test } from "vitest";
import { loadSettings } from "../config/load-settings.ts";
import { skewFinding } from "./finding.ts";
import { dataFinding, filesFinding, nodeFinding } from "./machine-checks.ts";

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

  test("the data folder is looked at where something is kept there, and not made", () => {
    const place = (dataDir: string, sqlUrl: string | null = null) => dataFinding({ dataDir, sqlUrl });
    expect(place("/nowhere/at/all")).toMatchObject({ status: "ok", text: "/nowhere/at/all can be made" });
    expect(place(`${import.meta.filename}/folder`)).toMatchObject({
      status: "fail",
      text: expect.stringContaining("ENOTDIR"),
    });
    expect(place("x", `sqlite:${import.meta.filename}/a.db`)).toMatchObject({ status: "fail" });
    expect(place("x", "mysql://db/sluice")).toBeNull();
  });
});
