/** The parts of the lab, in the order in which they run: the parts that find most come first. */
import { campaign } from "./campaign.ts";
import { canaries } from "./canaries.ts";
import { endurance } from "./endurance.ts";
import { mixedVersions } from "./mixed-versions.ts";
import { mutation } from "./mutation.ts";
import type { Part } from "./part.ts";
import { attack, chaos, malformed, models, serverAttack } from "./suites.ts";

export const PARTS: readonly Part[] = [
  campaign,
  canaries,
  models,
  chaos,
  attack,
  serverAttack,
  malformed,
  mixedVersions,
  endurance,
  mutation,
];
