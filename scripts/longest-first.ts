/**
 * The order of the suites: the longest first, so that no core idles at the end while another works through the last one.
 *
 * The runner by itself takes the largest files first, where it knows no earlier run; the longest suites are short files.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Those of more than half a minute with CI=true, and the next longest of a short run. The two halves of the campaign run side by side. */
const LONGEST = [
  "test/sim/campaign.test.ts",
  "test/sim/campaign-second-half.test.ts",
  "test/sim/scenarios.test.ts",
  "test/redis/processes.test.ts",
  "test/sql/world.test.ts",
  "test/canaries/canaries.test.ts",
  "test/protocol/reference.test.ts",
  "test/sql/faults.test.ts",
  "test/server/malformed.test.ts",
  "test/redis/load.test.ts",
  "test/planner/command.test.ts",
  "test/server/regions.test.ts",
  "test/protocol/interleavings.test.ts",
  "test/attacks/eviction.test.ts",
  "test/sql/conformance.test.ts",
  "test/server/stop-sql.test.ts",
  "test/sql/driver.test.ts",
  "test/server/denials.test.ts",
  "test/server/admin.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`));
      return at === -1 ? LONGEST.length : at;
    };
    const others = await super.sort(files);
    return others.toSorted((a, b) => rank(a) - rank(b));
  }
}
