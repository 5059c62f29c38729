/** Catches one canary, or runs the control: `node --import tsx scripts/lab/canary-chunk.ts NAME BASE`. */
import { writeFileSync } from "node:fs";
import { TESTED_CANARIES } from "../../test/canaries/audit-canaries.ts";
import { CANARIES, canaryNamed } from "../../test/canaries/aviary.ts";
import { catchBlind, catchCanary, control, seedsFrom } from "../../test/canaries/catch.ts";
import { BLIND_CANARIES } from "../../test/canaries/checker-canaries.ts";
import { catchTested } from "../../test/canaries/run-tested.ts";

const CONTROL_SEEDS = 4;

const [name, base] = [process.argv[2]!, Number(process.argv[3])];
const tested = TESTED_CANARIES.find((canary) => canary.name === name);
const blind = BLIND_CANARIES.find((canary) => canary.name === name);
const isCanary = tested !== undefined || blind !== undefined || CANARIES.some((canary) => canary.name === name);
if (isCanary) {
  const caught = await (tested !== undefined
    ? catchTested(tested)
    : blind !== undefined
      ? catchBlind(blind, base)
      : catchCanary(canaryNamed(name), base));
  writeFileSync(process.env["SLUICE_LAB_RESULT"] ?? "/dev/stdout", JSON.stringify(caught));
} else await control("", seedsFrom(base, CONTROL_SEEDS));
