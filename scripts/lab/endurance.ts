/** A server under load while its stores are troubled in turn. One chunk: a run in pieces would show no leak. */
import { listed, type Part, problemsOf } from "./part.ts";

/** What bench/src/endurance/main.ts leaves. */
interface EnduranceSummary {
  readonly minutes: number;
  readonly answered: number;
  readonly faults: number;
  readonly falseDenials: number;
  readonly excess: number;
  readonly p99Ms: number;
  readonly missed: readonly string[];
}

/** From here on memory is judged, and the section of docs/benchmarks.md is worth writing. */
const WRITE_FROM_MINUTES = 20;

export const endurance: Part = {
  name: "endurance",
  summary: "a server under load for --minutes while its stores are killed, frozen, emptied, cut and slowed in turn",
  flags: ["minutes"],
  isOfBuild: true,
  atOnce: 1,
  begin: ({ minutes }) => {
    const write = minutes >= WRITE_FROM_MINUTES ? ["--write"] : [];
    const chunk = {
      id: "endurance",
      args: ["--import", "tsx", "bench/src/endurance/main.ts", "--minutes", String(minutes), ...write],
      progressOf: (line: string) => {
        const minute = /^([\d.]+) min, /.exec(line)?.[1];
        return minute === undefined ? undefined : Number(minute) / minutes;
      },
    };
    return {
      seed: 0,
      ...listed([chunk], "run"),
      progress: (done, partly) => ({
        done: done.size + partly,
        total: 1,
        text: `${((done.size + partly) * minutes).toFixed(1)} of ${minutes} min`,
      }),
      conclude: (done) => {
        const summary = done.get(chunk.id)?.data as EnduranceSummary | null;
        const missed = summary?.missed ?? [];
        const figures =
          summary === null
            ? "no result"
            : [
                `${summary.answered} answers`,
                `${summary.faults} faults`,
                `${summary.falseDenials} false denials`,
                `${summary.excess} over the limit`,
                `p99 ${summary.p99Ms.toFixed(1)} ms`,
                ...missed.map((what) => `missed: ${what}`),
              ].join(", ");
        const problems = missed.length > 0 ? missed.map((what) => `missed: ${what}`) : problemsOf(done);
        return {
          isGreen: problems.length === 0,
          length: `${(summary?.minutes ?? 0).toFixed(1)} min`,
          figures,
          problems,
        };
      },
    };
  },
};
