/** docs/sometimes.md as the lab's campaign writes it: what must come up in a campaign, and how often it did. */
import { readFileSync } from "node:fs";
import * as sim from "@sluice/sim";
import { markdownTable } from "../../packages/server/src/text/columns.ts";

/**
 * A campaign of so many worlds may miss a situation with a chance of e^-20 if it is expected in 20 of them: once in half a billion
 * campaigns.
 */
const WORLDS_EXPECTED_MIN = 20;

const PAGE = new URL("../../docs/sometimes.md", import.meta.url);
const HEAD = ["mark", "what happened", "times", "worlds"] as const;

export function sometimesPage(
  totals: sim.CampaignTotals,
  worldsWith: Readonly<Record<sim.Mark, number>>,
  firstSeed: number,
): string {
  const hours = (totals.virtualMs / 3_600_000).toFixed(0);
  const rows = sim.MARK_NAMES.map(
    (mark) => [mark, sim.MARKS[mark], sim.whole(totals.marks[mark]), sim.whole(worldsWith[mark])] as const,
  );
  return [
    "# What a campaign must meet",
    "",
    "A checker that finds nothing in worlds where nothing happens has shown nothing. So every campaign counts these situations. The",
    "lab fails if one of them did not occur. The tests run fewer worlds, and fail only if a situation is missing that is expected in at",
    `least ${WORLDS_EXPECTED_MIN} worlds ([test/sim/campaign-halves.ts](../test/sim/campaign-halves.ts)). They are counted from the history alone`,
    "([marks.ts](../packages/sim/src/checker/marks.ts)).",
    "",
    "Written by `npm run lab -- campaign`:",
    `${sim.whole(totals.worlds)} worlds from seed ${firstSeed}, ${hours} simulated cluster-hours, ${sim.whole(sim.faultsOf(totals))} faults,`,
    `${sim.whole(totals.decisions)} decisions, ${totals.falseDenials} false denials, ${totals.viewsAbove} views above the truth. The largest excess used ${totals.ratioMax.toFixed(2)}`,
    "of its bound E (of those with E of 10 or more).",
    "",
    markdownTable(HEAD, rows, 2),
    "",
  ].join("\n");
}

/** The situations that so many worlds must meet, by what the lab's last campaign has met. */
export function expectedMarks(worlds: number, page: string = readFileSync(PAGE, "utf8")): readonly sim.Mark[] {
  const number = (text: string) => Number(text.replaceAll(",", ""));
  const all = number(/^([\d,]+) worlds from seed/m.exec(page)?.[1] ?? "");
  return sim.MARK_NAMES.filter((mark) => {
    const cells =
      page
        .split("\n")
        .find((line) => line.startsWith(`| ${mark} `))
        ?.split("|") ?? [];
    return (number(cells[4] ?? "") / all) * worlds >= WORLDS_EXPECTED_MIN;
  });
}
