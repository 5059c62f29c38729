/** What an attack does in several modes, side by side. The last outcome is the one the report goes on with. */
import { ratio, whole } from "../../text/figures.ts";
import type { Outcome } from "../plan/rehearsal.ts";

export function comparisonText(outcomes: readonly Outcome[]): string {
  const { regions, load, attack } = outcomes[0]!.plan;
  const lines = outcomes.map((outcome) => {
    const worst = `${ratio(outcome.admittedOverLimit)} × the limit`;
    return `  ${outcome.plan.mode.padEnd(10)}${worst.padEnd(22)}${whole(deniedIn(outcome)).padStart(9)}`;
  });
  return [
    `Attack ${attack}: each of ${regions} regions gets ${ratio(load / regions)} × the limit, all together ${load} ×`,
    "",
    `  ${"mode".padEnd(10)}${"worst window".padEnd(22)}${"denied".padStart(9)}`,
    ...lines,
    "",
    ...outcomes.map((outcome) => `  ${verdict(outcome)}`),
    "",
  ].join("\n");
}

function deniedIn({ windows }: Outcome): number {
  return windows.reduce((sum, { denied }) => sum + denied, 0);
}

/** Above this the limit was not held: news that is a second or two old explains less. */
const HELD_MAX = 1.2;

/** Whether a mode held the limit, in a sentence. */
export function verdict(outcome: Outcome): string {
  const { plan, admittedOverLimit } = outcome;
  const isHeld = admittedOverLimit <= HELD_MAX;
  const isSilent = plan.mode === "denials" && deniedIn(outcome) === 0;
  const why = isSilent
    ? "no region reaches the limit alone, so none informs the others"
    : `regions exchange their ${plan.mode === "denials" ? "denials" : "counts"}`;
  return `${plan.mode}: the limit is ${isHeld ? "" : "NOT "}held; ${why}`;
}
