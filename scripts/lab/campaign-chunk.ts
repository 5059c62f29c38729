/**
 * Some worlds of a campaign: the seeds from `first` on, or those of the corpus. A world that fails is reduced.
 *
 *   node --import tsx scripts/lab/campaign-chunk.ts '{"first":123,"count":50}'
 */
import { readFileSync, writeFileSync } from "node:fs";
import * as sim from "@sluice/sim";

export interface CampaignOrder {
  /** Null: the corpus. */
  readonly first: number | null;
  readonly count: number;
}

export interface CampaignChunk {
  readonly totals: sim.CampaignTotals;
  /** In how many worlds each mark came up. */
  readonly worldsWith: Readonly<Record<sim.Mark, number>>;
  readonly failures: readonly CampaignFailure[];
}

export interface CampaignFailure extends sim.CorpusWorld {
  /** With the commands that repeat it. */
  readonly text: string;
}

async function run({ first, count }: CampaignOrder): Promise<CampaignChunk> {
  const corpusFile = new URL("../../test/sim/corpus.json", import.meta.url);
  const worlds: readonly { readonly seed: number; readonly options?: sim.WorldOptions }[] =
    first === null
      ? (JSON.parse(readFileSync(corpusFile, "utf8")) as sim.CorpusWorld[])
      : Array.from({ length: count }, (_, i) => ({ seed: first + i }));
  const totals = sim.noTotals();
  const worldsWith = Object.fromEntries(sim.MARK_NAMES.map((mark) => [mark, 0])) as Record<sim.Mark, number>;
  const failures: CampaignFailure[] = [];
  for (const [i, { seed, options }] of worlds.entries()) {
    const report = await sim.runWorld(seed, options === undefined ? {} : { options });
    sim.add(totals, report);
    for (const mark of sim.MARK_NAMES) if (report.marks[mark] > 0) worldsWith[mark]++;
    if (report.problem !== undefined) {
      const text = sim.describeFailure(report, await sim.reduce(report));
      failures.push({ seed, options: report.options, story: report.problem, text });
    }
    console.log(`world ${i + 1} of ${worlds.length}`);
  }
  return { totals, worldsWith, failures };
}

const result = await run(JSON.parse(process.argv[2]!) as CampaignOrder);
writeFileSync(process.env["SLUICE_LAB_RESULT"] ?? "/dev/stdout", JSON.stringify(result));
for (const { text } of result.failures) console.error(text);
process.exitCode = result.failures.length > 0 ? 1 : 0;
