/** docs/sometimes.md as a campaign writes it: what must come up in one, and how often it did. */
import * as sim from "sluice/sim";

export function sometimesPage(totals: sim.CampaignTotals, firstSeed: number): string {
  const hours = (totals.virtualMs / 3_600_000).toFixed(0);
  const rows = sim.MARK_NAMES.map((mark) => [mark, sim.MARKS[mark], sim.whole(totals.marks[mark])] as const);
  const widths = [0, 1, 2].map((i) => Math.max(...[HEAD, ...rows].map((row) => row[i as 0].length)));
  const line = (cells: readonly string[]) =>
    `| ${cells[0]!.padEnd(widths[0]!)} | ${cells[1]!.padEnd(widths[1]!)} | ${cells[2]!.padStart(widths[2]!)} |`;
  return [
    "# What a campaign must meet",
    "",
    "A checker that finds nothing in worlds where nothing happens has shown nothing. So every campaign counts these situations,",
    "and fails if one of them did not come up ([test/sim-halves.ts](../test/sim-halves.ts)). They are counted from the history alone",
    "([marks.ts](../packages/sluice/src/sim/checker/marks.ts)).",
    "",
    "Written by `npm run campaign -- --write`, or of fewer worlds by the tests with `SLUICE_SIM_WRITE=true`:",
    `${sim.whole(totals.worlds)} worlds from seed ${firstSeed}, ${hours} simulated cluster-hours, ${sim.whole(sim.faultsOf(totals))} faults,`,
    `${sim.whole(totals.decisions)} decisions, ${totals.falseDenials} false denials, ${totals.viewsAbove} views above the truth. The largest excess used ${totals.ratioMax.toFixed(2)}`,
    "of its bound E (of those with E of 10 or more).",
    "",
    line(HEAD),
    `| ${"-".repeat(widths[0]!)} | ${"-".repeat(widths[1]!)} | ${"-".repeat(widths[2]! - 1)}: |`,
    ...rows.map(line),
    "",
  ].join("\n");
}

const HEAD = ["mark", "what happened", "times"] as const;
