/**
 * The first half of the campaign, and the way to see one world again: SLUICE_SIM_SEED=n npx vitest run test/sim/campaign.test.ts, with
 * SLUICE_SIM_OPTIONS='{…}' where its options are not those that the seed draws.
 *
 * The number of worlds, and what they must come to, is in campaign-halves.ts.
 */
import { describeFailure, reduce, runWorld, type WorldOptions } from "@sluice/sim";
import { describe, expect, test } from "vitest";
import { campaignHalf, HALF_TIMEOUT_MS } from "./campaign-halves.ts";

const asked = process.env["SLUICE_SIM_SEED"];

if (asked === undefined) {
  describe("a campaign of worlds", () => {
    test("every invariant holds in every world of the first half", { timeout: HALF_TIMEOUT_MS }, () => campaignHalf(0));
  });
} else {
  describe("one world", () => {
    test(`seed ${asked} keeps every invariant`, { timeout: HALF_TIMEOUT_MS }, async () => {
      const options = JSON.parse(process.env["SLUICE_SIM_OPTIONS"] ?? "{}") as Partial<WorldOptions>;
      const report = await runWorld(Number(asked), { options });
      if (report.problem !== undefined) expect.fail(describeFailure(report, await reduce(report)));
    });
  });
}
