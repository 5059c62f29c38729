/** The figures as Markdown: one row per target, and below what they come from. */
import { cpus, loadavg } from "node:os";
import { median } from "../median.ts";
import { NAMES } from "../redis/contenders.ts";
import { markdownTable } from "../table.ts";
import type { LibraryFigure, LibrarySubject } from "./library.ts";
import type { ColdRound } from "./rounds.ts";
import type { ServerFigure, ServerSubject } from "./server.ts";
import type { SharedWindow } from "./shared-key.ts";

export interface ColdFigures {
  readonly redis: ColdRound[];
  readonly library: LibraryFigure[];
  readonly server: ServerFigure[];
  readonly windows: SharedWindow[];
  /** Requests to the shared key, and how many of them were decided without an answer of Redis. */
  asked: number;
  degraded: number;
}

export interface RunOptions {
  readonly rounds: number;
  readonly roundMs: number;
  readonly windowMs: number;
  readonly isQuick: boolean;
  readonly now: Date;
}

const INTRO = `Requests for keys that are not in memory: the first of their key, or the first for longer than the freshness of what is known. On
Redis every request names a new key, each package with its own connection; the library and the server draw identifiers at random out of a million and out of
100,000. Figures are medians of rounds that are taken in turns. Redis's processor time includes what a package sends later.`;

export function coldPage(figures: ColdFigures, { rounds, roundMs, windowMs, isQuick, now }: RunOptions): string {
  const cores = cpus();
  const machine = `${cores.length} cores of ${cores[0]?.model ?? "an unknown processor"}; Node ${process.versions.node}; ${now.toISOString().slice(0, 10)}; ${rounds} rounds, of ${roundMs} ms on Redis; windows of ${windowMs} ms; load average ${(loadavg()[0] ?? 0).toFixed(0)} at the end.`;
  const parts = [
    "# Benchmarks of cold keys",
    `${machine}\n\`npm run bench-cold --workspace bench -- --write\` makes this page, after \`npm run build\`.`,
    ...(isQuick ? ["**Tiny inputs (`--quick`): these figures mean nothing.**"] : []),
    INTRO,
    markdownTable(["", "measured", "to reach"], targetRows(figures)),
    ...(figures.redis.length > 0 ? ["## On Redis, every key cold", redisTable(figures.redis)] : []),
    ...(figures.library.length > 0 ? ["## The library, over an origin that does nothing", libraryTable(figures)] : []),
    ...(figures.server.length > 0 ? ["## The server, 100,000 random identifiers", serverTable(figures)] : []),
    ...(figures.windows.length > 0 ? ["## Four processes, one key", sharedText(figures)] : []),
  ];
  return `${parts.join("\n\n")}\n`;
}

function targetRows(figures: ColdFigures): string[][] {
  const { redis, library, server, windows } = figures;
  const rows: string[][] = [];
  const row = (name: string, value: number, digits: number, target: string) => {
    rows.push([name, value.toFixed(digits), target]);
  };
  if (redis.length > 0) {
    row("Redis, 1 in flight, every key cold, ÷ best peer", toBest(redis, 1), 2, "≥ 1.0");
    row("Redis, 64 in flight, every key cold, ÷ best peer", toBest(redis, 64), 2, "≥ 1.3");
    for (const inFlight of [1, 64]) {
      const us = of(redis, "sluice", inFlight, "redisCpuUs");
      row(`Redis CPU µs per cold decision, ${inFlight} in flight`, us, 1, "≤ 1.3 of the release before");
    }
  }
  if (library.length > 0)
    row("library, 1M random keys, no-op origin, µs", libraryOf(library, "no-op origin").us, 2, "≤ 5");
  if (server.length > 0) {
    const ratio = serverOf(server, "with Redis") / serverOf(server, "without Redis");
    row("server, 100k random identifiers, CPU with Redis ÷ without", ratio, 2, "≤ 1.4");
  }
  if (windows.length > 0) {
    const name = `four processes, one key at 10 × its limit: admitted ÷ limit, worst of ${windows.length} windows`;
    row(name, Math.max(...windows.map(({ admitted }) => admitted)), 3, "≤ 1.01");
  }
  return rows;
}

function redisTable(rounds: readonly ColdRound[]): string {
  const rows = [1, 64].flatMap((inFlight) =>
    NAMES.map((name) => [
      name,
      String(inFlight),
      Math.round(of(rounds, name, inFlight, "perSecond")).toLocaleString("en"),
      of(rounds, name, inFlight, "cpuUs").toFixed(1),
      of(rounds, name, inFlight, "redisCpuUs").toFixed(1),
    ]),
  );
  return markdownTable(["", "in flight", "decisions/s", "CPU µs/decision", "Redis CPU µs/decision"], rows);
}

function libraryTable({ library }: ColdFigures): string {
  const rows = (["bare", "no-op origin"] as const).map((subject) => {
    const { us, cpuUs, waited } = libraryOf(library, subject);
    return [subject, us.toFixed(2), cpuUs.toFixed(2), `${(100 * waited).toFixed(0)} %`];
  });
  return markdownTable(["", "µs/decision", "CPU µs/decision", "waited for the origin"], rows);
}

function serverTable({ server }: ColdFigures): string {
  const rows = (["without Redis", "with Redis"] as const).map((subject) => {
    const own = server.filter((figure) => figure.subject === subject);
    const rate = median(own.map(({ requestsPerSecond }) => requestsPerSecond));
    const failed = own.reduce((sum, figure) => sum + figure.failed, 0);
    return [subject, serverOf(server, subject).toFixed(1), rate.toFixed(0), String(failed)];
  });
  return markdownTable(["", "CPU µs/decision", "requests/s", "not 2xx"], rows);
}

function sharedText({ windows, asked, degraded }: ColdFigures): string {
  const worst = (field: keyof SharedWindow) => Math.max(...windows.map((window) => window[field])).toFixed(3);
  const middle = (field: keyof SharedWindow) => median(windows.map((window) => window[field])).toFixed(3);
  const rows = [
    ["admitted in a window ÷ limit", middle("admitted"), worst("admitted")],
    ["highest effective count within a window ÷ limit", middle("peak"), worst("peak")],
  ];
  return `${markdownTable(["", "median", "worst"], rows)}\n\n${asked} requests with costs of 1, 2, 5 and 10; ${degraded} of them degraded.`;
}

/** Ratios of one round, then their median: a slow moment of the machine meets all of a round. */
function toBest(rounds: readonly ColdRound[], inFlight: number): number {
  const ratios: number[] = [];
  const own = (name: string) => rounds.filter((one) => one.contender === name && one.inFlight === inFlight);
  own("sluice").forEach(({ perSecond }, i) => {
    const peers = NAMES.filter((name) => name !== "sluice").map((name) => own(name)[i]!.perSecond);
    ratios.push(perSecond / Math.max(...peers));
  });
  return median(ratios);
}

function of(
  rounds: readonly ColdRound[],
  name: string,
  inFlight: number,
  field: "perSecond" | "cpuUs" | "redisCpuUs",
): number {
  return median(rounds.filter((one) => one.contender === name && one.inFlight === inFlight).map((one) => one[field]));
}

function libraryOf(figures: readonly LibraryFigure[], subject: LibrarySubject): Omit<LibraryFigure, "subject"> {
  const own = figures.filter((figure) => figure.subject === subject);
  const middle = (field: "us" | "cpuUs" | "waited") => median(own.map((figure) => figure[field]));
  return { us: middle("us"), cpuUs: middle("cpuUs"), waited: middle("waited") };
}

function serverOf(figures: readonly ServerFigure[], subject: ServerSubject): number {
  return median(figures.filter((figure) => figure.subject === subject).map(({ cpuUs }) => cpuUs));
}
