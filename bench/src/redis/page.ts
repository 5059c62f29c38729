/** The figures as Markdown. */
import { cpus, loadavg } from "node:os";
import { markdownTable } from "../table.ts";
import { NAMES } from "./contenders.ts";
import type { Outage } from "./outage.ts";
import type { Round } from "./rounds.ts";

export interface RunOptions {
  readonly roundMs: number;
  readonly rounds: number;
  readonly outageMs: number;
  readonly isQuick: boolean;
  readonly now: Date;
}

const INTRO = `Every package limits 1,000 keys through a Redis on the same machine, with the client \`@redis/client\` and one connection. So many callers
ask at once, each again as soon as it is answered; the limit is never reached. Figures are medians of the rounds, and rounds
are taken in turns. Sluice decides in memory and tells Redis every 50 ms; the others ask Redis for every decision, and are exact.`;

const OUTAGE = `## When Redis freezes, or is gone

A request every 2 ms while Redis is stopped (SIGSTOP), and while it is not there (SIGKILL). _Decided_ and _failed_ are those that were answered
before the trouble ended. Each package is used with its client's own settings, as its documentation shows.`;

export function redisPage(figures: readonly Round[], outages: readonly Outage[], options: RunOptions): string {
  const { roundMs, rounds, outageMs, isQuick, now } = options;
  const cores = cpus();
  const machine = `${cores.length} cores of ${cores[0]?.model ?? "an unknown processor"}; Node ${process.versions.node}; ${now.toISOString().slice(0, 10)}; ${rounds} rounds of ${roundMs} ms, outages of ${outageMs} ms; load average ${(loadavg()[0] ?? 0).toFixed(0)} at the end.`;
  const parts = [
    "# Benchmarks with Redis",
    `${machine}\n\`npm run bench-redis --workspace bench -- --write\` makes this page, after \`npm run build\`.`,
    ...(isQuick ? ["**Tiny inputs (`--quick`): these figures mean nothing.**"] : []),
    INTRO,
    speedTable(figures),
    OUTAGE,
    outageTable(outages),
  ];
  return `${parts.join("\n\n")}\n`;
}

function speedTable(figures: readonly Round[]): string {
  const rows = [...new Set(figures.map(({ callers }) => callers))].flatMap((callers) => {
    const best = Math.max(...NAMES.filter((name) => name !== "sluice").map((name) => rate(figures, name, callers)));
    return NAMES.map((name) => {
      const own = figures.filter((figure) => figure.contender === name && figure.callers === callers);
      const perSecond = rate(figures, name, callers);
      const times = [own.map(({ p50Ms }) => p50Ms), own.map(({ p99Ms }) => p99Ms)];
      return [
        name,
        String(callers),
        Math.round(perSecond).toLocaleString("en"),
        `${(perSecond / best).toFixed(perSecond / best < 10 ? 2 : 0)} ×`,
        ...times.map((values) => median(values).toFixed(3)),
      ];
    });
  });
  return markdownTable(["", "callers", "decisions/s", "of the best other", "p50 ms", "p99 ms"], rows);
}

function outageTable(outages: readonly Outage[]): string {
  const ms = (value: number) => (Number.isNaN(value) ? "–" : value.toFixed(1));
  const rows = outages.map(({ contender, trouble, asked, decided, failed, p99Ms, longestMs }) => {
    const waiting = asked - decided - failed;
    return [contender, trouble, ...[asked, decided, failed, waiting].map(String), ms(p99Ms), ms(longestMs)];
  });
  return markdownTable(
    ["", "Redis is", "asked", "decided", "failed", "no answer", "p99 ms of the decided", "longest ms"],
    rows,
  );
}

function rate(figures: readonly Round[], name: string, callers: number): number {
  return median(figures.filter((one) => one.contender === name && one.callers === callers).map((one) => one.perSecond));
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
