/** Campaigns of simulated worlds, as many as the simulated cluster-hours take. Writes docs/sometimes.md. */
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import * as sim from "@sluice/sim";
import { rememberFailure } from "../../test/sim/corpus.ts";
import { sometimesPage } from "../../test/sim/sometimes-page.ts";
import type { CampaignChunk } from "./campaign-chunk.ts";
import type { Chunk, Conclusion, DoneChunks, Part } from "./part.ts";
import { root } from "./root.ts";
import { sourceOf } from "./source.ts";

/** About ten seconds of one core, which is what an interruption can cost. */
const SEEDS_PER_CHUNK = 50;
/** For a world that never ends. A chunk with failures reduces each of them. */
const TIMEOUT_MS = 3_600_000;
/** More failing worlds say nothing more. */
const FAILURES_MAX = 5;
/** Below so many hours a campaign is a try-out, and need not have met every situation. */
const MARKS_FROM_HOURS = 200;
const CORPUS = "corpus";
const HOUR_MS = 3_600_000;

export const campaign: Part = {
  name: "campaign",
  summary: "simulated worlds with faults, every decision checked; at least --hours cluster-hours",
  flags: ["hours", "seed"],
  atOnce: Math.max(2, availableParallelism()),
  begin: ({ hours, seed: given }) => {
    // Other worlds than the tests of the same commit run, which begin at the number of the commit itself.
    const seed = given ?? (sourceOf(root).seed ^ 0x5bd1e995) >>> 0;
    const chunkOf = (index: number): Chunk => order(String(index), seed + index * SEEDS_PER_CHUNK);
    return {
      seed,
      next: (done, begun) => {
        if (!begun.has(CORPUS)) return order(CORPUS, null);
        const { totals, failures } = sumOf(done);
        // What is under way counts: the last chunks must not be one per core too many.
        const perChunk = totals.worlds === 0 ? 0 : (totals.virtualMs / totals.worlds) * SEEDS_PER_CHUNK;
        const expectedMs = totals.virtualMs + (begun.size - done.size) * perChunk;
        if (failures.length >= FAILURES_MAX || expectedMs >= hours * HOUR_MS) return undefined;
        for (let index = 0; ; index++) if (!begun.has(String(index))) return chunkOf(index);
      },
      progress: (done, partly) => {
        const { totals, failures } = sumOf(done);
        const doneHours = totals.virtualMs / HOUR_MS;
        const perChunk = totals.worlds === 0 ? 0 : (doneHours / totals.worlds) * SEEDS_PER_CHUNK;
        const text = `${Math.floor(doneHours)} of ${hours} cluster-hours, ${sim.whole(totals.worlds)} worlds, ${failures.length} failures`;
        return { done: Math.min(hours, doneHours + partly * perChunk), total: hours, text };
      },
      conclude: (done) => concludeCampaign(done, seed, hours),
    };
  },
};

function order(id: string, first: number | null): Chunk {
  const args = ["--import", "tsx", "scripts/lab/campaign-chunk.ts", JSON.stringify({ first, count: SEEDS_PER_CHUNK })];
  const progressOf = (line: string) => {
    const [, done, total] = /^world (\d+) of (\d+)$/.exec(line) ?? [];
    return done === undefined ? undefined : Number(done) / Number(total);
  };
  return { id, args, timeoutMs: TIMEOUT_MS, progressOf };
}

function sumOf(done: DoneChunks) {
  const totals = sim.noTotals();
  const worldsWith = Object.fromEntries(sim.MARK_NAMES.map((mark) => [mark, 0])) as Record<sim.Mark, number>;
  const failures: CampaignChunk["failures"][number][] = [];
  for (const { data } of done.values()) {
    if (data === null) continue;
    const chunk = data as CampaignChunk;
    sim.add(totals, chunk.totals);
    for (const mark of sim.MARK_NAMES) worldsWith[mark] += chunk.worldsWith[mark];
    failures.push(...chunk.failures);
  }
  return { totals, worldsWith, failures };
}

function concludeCampaign(done: DoneChunks, seed: number, hoursWanted: number): Conclusion {
  const { totals, worldsWith, failures } = sumOf(done);
  for (const failure of failures) rememberFailure(failure);
  const hours = totals.virtualMs / HOUR_MS;
  const missing = sim.MARK_NAMES.filter((mark) => totals.marks[mark] === 0);
  const problems = [
    ...failures.map(({ text }) => text),
    ...(failures.length > 0
      ? ["The failing worlds are in test/sim/corpus.json now: commit it with the change that fixes them."]
      : []),
    ...[...done].flatMap(([id, { data, said }]) => (data === null ? [`chunk ${id} failed:\n${said}`] : [])),
    ...(totals.falseDenials > 0 ? [`${totals.falseDenials} false denials`] : []),
    ...(totals.viewsAbove > 0 ? [`${totals.viewsAbove} views above the truth`] : []),
    ...(hoursWanted >= MARKS_FROM_HOURS && missing.length > 0 ? [`never occurred: ${missing.join(", ")}`] : []),
  ];
  if (problems.length === 0 && hoursWanted >= MARKS_FROM_HOURS)
    writeFileSync(join(root, "docs/sometimes.md"), sometimesPage(totals, worldsWith, seed));
  const figures = [
    `${sim.whole(totals.worlds)} worlds from seed ${seed}`,
    `${sim.whole(totals.decisions)} decisions`,
    `${sim.whole(sim.faultsOf(totals))} faults`,
    `${totals.falseDenials} false denials`,
    `${totals.viewsAbove} views above the truth`,
    `largest part of E used ${totals.ratioMax.toFixed(2)}`,
    `${sim.MARK_NAMES.length - missing.length} of ${sim.MARK_NAMES.length} marks`,
    ...(failures.length > 0 ? [`${failures.length} failing worlds`] : []),
  ].join(", ");
  return { isGreen: problems.length === 0, length: `${hours.toFixed(0)} simulated cluster-hours`, figures, problems };
}
