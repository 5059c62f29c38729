/** A campaign: many worlds, one after the other, and what they came to in all. */
import { MARK_NAMES, type MarkCounts, noMarks } from "../checker/marks.ts";
import { FAULT_KINDS } from "../model/fault-kinds.ts";
import type { WorldOptions } from "../model/options.ts";
import { type FaultCounts, noFaults } from "../world/faults.ts";
import { runWorld, type WorldReport } from "../world/world.ts";

/** A world that is run again in every campaign, because it failed once. */
export interface CorpusWorld {
  readonly seed: number;
  readonly options: WorldOptions;
  /** What was wrong. */
  readonly story: string;
}

export interface CampaignTotals {
  worlds: number;
  virtualMs: number;
  events: number;
  messages: number;
  decisions: number;
  /** Allows that were over the limit in truth, each within E; allows whose freshness was checked; what settling compared. */
  over: number;
  fresh: number;
  joined: number;
  compared: number;
  falseDenials: number;
  viewsAbove: number;
  /** The largest part of E that an excess used. */
  ratioMax: number;
  faults: FaultCounts;
  marks: MarkCounts;
}

export function noTotals(): CampaignTotals {
  const none = { worlds: 0, virtualMs: 0, events: 0, messages: 0, decisions: 0 };
  const checked = { over: 0, fresh: 0, joined: 0, compared: 0, falseDenials: 0, viewsAbove: 0, ratioMax: 0 };
  return { ...none, ...checked, faults: noFaults(), marks: noMarks() };
}

const SUMMED = [
  "virtualMs",
  "events",
  "messages",
  "decisions",
  "over",
  "fresh",
  "joined",
  "compared",
  "falseDenials",
  "viewsAbove",
] as const;

/** Adds one world, or one campaign, to the totals. */
export function add(totals: CampaignTotals, more: WorldReport | CampaignTotals): void {
  totals.worlds += "worlds" in more ? more.worlds : 1;
  for (const field of SUMMED) totals[field] += more[field];
  totals.ratioMax = Math.max(totals.ratioMax, more.ratioMax);
  for (const kind of FAULT_KINDS) totals.faults[kind] += more.faults[kind];
  for (const mark of MARK_NAMES) totals.marks[mark] += more.marks[mark];
}

export interface CampaignOptions {
  readonly seeds: Iterable<number>;
  readonly corpus: readonly CorpusWorld[];
  /** Called after every world. */
  readonly onWorld: (report: WorldReport) => void;
}

/** Runs the corpus, then the seeds. Answers the first failure, if there is one. */
export async function runCampaign({ seeds, corpus, onWorld }: CampaignOptions): Promise<WorldReport | undefined> {
  for (const { seed, options } of corpus) {
    const report = await runWorld(seed, { options });
    onWorld(report);
    if (report.problem !== undefined) return report;
  }
  for (const seed of seeds) {
    const report = await runWorld(seed);
    onWorld(report);
    if (report.problem !== undefined) return report;
  }
  return undefined;
}

export function faultsOf(totals: CampaignTotals): number {
  return FAULT_KINDS.reduce((sum, kind) => sum + totals.faults[kind], 0);
}

/** The totals as a table, one figure a line. */
export function tableOf(totals: CampaignTotals): string {
  const lines: [string, string][] = [
    ["worlds", whole(totals.worlds)],
    ["simulated cluster-hours", (totals.virtualMs / 3_600_000).toFixed(1)],
    ["decisions", whole(totals.decisions)],
    ["messages", whole(totals.messages)],
    ["events", whole(totals.events)],
    ["allows checked for freshness", whole(totals.fresh)],
    ["allows over the limit, all within E", whole(totals.over)],
    ["largest part of E used", totals.ratioMax.toFixed(2)],
    ["decisions compared with the join", whole(totals.joined)],
    ["components and views compared at rest", whole(totals.compared)],
    ["false denials", whole(totals.falseDenials)],
    ["views above the truth", whole(totals.viewsAbove)],
    ["faults", whole(faultsOf(totals))],
    ...FAULT_KINDS.map((kind): [string, string] => [`  ${kind}`, whole(totals.faults[kind])]),
    ["sometimes", ""],
    ...MARK_NAMES.map((mark): [string, string] => [`  ${mark}`, whole(totals.marks[mark])]),
  ];
  return lines.map(([name, figure]) => `${name.padEnd(40)}${figure.padStart(14)}`).join("\n");
}

/** A number with commas between thousands; written out, because a locale is not to be relied on. */
export function whole(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}
