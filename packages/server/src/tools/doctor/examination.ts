/** Everything that `sluice doctor` looks at, in order: what is wrong below shows before what stands on it. */
import type { Loaded } from "../../config/load-settings.ts";
import { convergenceFindings } from "./convergence-checks.ts";
import { databaseFindings } from "./database-checks.ts";
import { spaceFinding } from "./disk-checks.ts";
import { type Finding, ok, warn } from "./finding.ts";
import { listeningFindings } from "./listening-checks.ts";
import { certificateFinding, dataFinding, filesFinding, nodeFinding, readLimits } from "./machine-checks.ts";
import { type DoctorClock, redisFindings } from "./redis-checks.ts";

export async function examine({ settings, effective, warnings }: Loaded, clock: DoctorClock): Promise<Finding[]> {
  const given = effective.filter(({ source }) => source !== "default").length;
  const machine = [
    ok("settings", `valid; ${given} set, the others have their defaults`),
    ...warnings.map((text) => warn("settings", text, "see docs/configuration.md")),
    nodeFinding(process.versions.node),
    filesFinding(readLimits(), settings),
    await dataFinding(settings),
    spaceFinding(settings),
    ...(await listeningFindings(settings)),
    certificateFinding(settings, clock.wallMs()),
    ...convergenceFindings(settings),
  ];
  return [
    ...machine.filter((finding) => finding !== null),
    ...(await redisFindings(settings, clock)),
    ...(await databaseFindings(settings, clock)),
  ];
}
