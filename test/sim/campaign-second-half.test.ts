/** The second half of the campaign: a file of its own, so that both cores have one. */
import { describe, test } from "vitest";
import { campaignHalf, HALF_TIMEOUT_MS } from "./campaign-halves.ts";

describe.runIf(process.env["SLUICE_SIM_SEED"] === undefined)("a campaign of worlds", () => {
  test("every invariant holds in every world of the second half", { timeout: HALF_TIMEOUT_MS }, () => campaignHalf(1));
});
