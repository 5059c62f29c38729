/** An endurance run as a section of docs/benchmarks.md, and whether it held. */
import { cpus, loadavg } from "node:os";
import { markdownTable } from "../table.ts";
import { FAULTS } from "./faults.ts";
import type { Endurance, EnduranceOptions } from "./run.ts";
import { type Sample, slope } from "./samples.ts";

export const HEADING = "## Endurance";

/** Three windows, after which as many cells end as begin; and a minute for the engine to settle. */
const WARM_MINUTES = 4;
/** A slope over less says more of the collector than of the server. */
const JUDGED_MINUTES = 10;
const SLOPE_MAX_MIB = 1;
/** Half an hour of this would be three descriptors: connections come and go with the faults. */
const FDS_SLOPE_MAX = 0.1;

interface Verdict {
  readonly what: string;
  readonly measured: string;
  /** Undefined: too short a run to say. */
  readonly isMet: boolean | undefined;
}

export function verdictsOf(run: Endurance): readonly Verdict[] {
  const { load, falseDenials, excess, heard, counted, exitCode } = run;
  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((all, one) => all + one, 0);
  const warm = run.samples.filter(({ minute }) => minute >= WARM_MINUTES);
  const isLong = (warm.at(-1)?.minute ?? 0) - (warm[0]?.minute ?? 0) >= JUDGED_MINUTES;
  const rise = (pick: (one: Sample) => number) => slope(warm.map((one) => [one.minute, pick(one)] as const));
  const slopeOf = (what: string, unit: string, max: number, pick: (one: Sample) => number): Verdict => ({
    what: `${what}: less than ${max}${unit} more a minute, after ${WARM_MINUTES} minutes`,
    measured: warm.length < 2 ? "too short a run" : `${rise(pick).toFixed(3)}${unit} a minute`,
    isMet: isLong ? rise(pick) < max : undefined,
  });
  const none = (what: string, count: number): Verdict => ({ what, measured: String(count), isMet: count === 0 });
  return [
    none("faults that could not be made: none", run.faultsFailed),
    {
      ...none("answers that are no decision (5xx and others): none", sum(load.httpErrors)),
      measured: listOf(load.httpErrors),
    },
    {
      ...none("connection errors: none", sum(load.connectionErrors)),
      measured: listOf(load.connectionErrors),
    },
    none("requests that could not be sent: none", load.unsent),
    none("false denials: none", falseDenials),
    none("allowed over the limit (one server): none", excess),
    {
      what: "the server counted what the client heard",
      measured: `${counted.allowed} and ${heard.allowed} allowed, ${counted.denied} and ${heard.denied} denied`,
      isMet: counted.allowed === heard.allowed && counted.denied === heard.denied,
    },
    slopeOf("resident memory", " MiB", SLOPE_MAX_MIB, ({ rssMib }) => rssMib),
    slopeOf("heap in use", " MiB", SLOPE_MAX_MIB, ({ heapMib }) => heapMib),
    slopeOf("open file descriptors", "", FDS_SLOPE_MAX, ({ fds }) => fds),
    { what: "stopped, it has lost nothing: exit code 0", measured: String(exitCode), isMet: exitCode === 0 },
  ];
}

/** `3 ECONNRESET, 1 timeout`. */
function listOf(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  return parts.length === 0 ? "0" : parts.join(", ");
}

export function enduranceSection(run: Endurance, { rate, everyMs }: EnduranceOptions): string {
  const cores = cpus();
  const minutes = (run.load.elapsedMs / 60_000).toFixed(0);
  return [
    HEADING,
    `${minutes} minutes at ${rate} requests a second, in an open loop, against one built \`sluice serve\` with a real Redis and MariaDB, and a fault
every ${everyMs / 1_000} s: ${run.faults} in all, of ${FAULTS.length} kinds in turn. Server, stores and generator share ${cores.length} cores of ${cores[0]?.model ?? "an unknown processor"}; Node
${process.versions.node}; load average ${(loadavg()[0] ?? 0).toFixed(1)} at the end. \`npm run lab -- endurance\` makes this section.`,
    `Six of ten requests are for 1,000 users far below their limits, three for 100 that ask more than theirs, one for somebody never seen
before. A fault is charged with what was answered while it lasted and as long again; all else is calm. _Due_ is counted from when a
request was due, _sent_ from when it was sent; the difference is waiting for a connection, and the generator's own delay (p99 ${run.load.generator.lateMs.p99.toFixed(1)} ms).`,
    phaseTable(run),
    verdictTable(run),
    memoryText(run.samples),
  ].join("\n\n");
}

function phaseTable({ phases }: Endurance): string {
  const header = ["", "answered", "p50 ms, due", "p99", "p99.9", "max", "p50 ms, sent", "p99", "p99.9"];
  const figure = (ms: number) => ms.toFixed(ms < 10 ? 2 : 1);
  return markdownTable(
    header,
    phases.map(({ name, answered, corrected, service }) => [
      name,
      String(answered),
      ...[corrected.p50, corrected.p99, corrected.p999, corrected.max].map(figure),
      ...[service.p50, service.p99, service.p999].map(figure),
    ]),
  );
}

function verdictTable(run: Endurance): string {
  const word = (isMet: boolean | undefined) => (isMet === undefined ? "–" : isMet ? "held" : "**missed**");
  const rows = verdictsOf(run).map(({ what, measured, isMet }) => [what, measured, word(isMet)]);
  return markdownTable(["to hold", "measured", ""], rows);
}

function memoryText(samples: readonly Sample[]): string {
  const warm = samples.filter(({ minute }) => minute >= WARM_MINUTES);
  const [first, last] = [warm[0] ?? samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return "";
  const range = (pick: (one: Sample) => number) => {
    const values = (warm.length > 0 ? warm : samples).map(pick);
    return `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)}`;
  };
  const cores = (last.cpuS - first.cpuS) / Math.max(1, (last.minute - first.minute) * 60);
  return `Looked at every 10 s, after ${first.minute.toFixed(0)} minutes: ${range(({ rssMib }) => rssMib)} MiB resident, ${range(({ heapMib }) => heapMib)} MiB of heap in use, ${range(({ fds }) => fds)} file
descriptors, ${range(({ cells }) => cells)} keys. The server used ${cores.toFixed(2)} of a core.`;
}
