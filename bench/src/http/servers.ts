/** The server beside a bare node:http one, alone and with Redis and MariaDB: as a page. */
import { cpus, loadavg } from "node:os";
import { median } from "../median.ts";
import { markdownTable } from "../table.ts";
import { ServerProcess } from "./contenders.ts";
import { type Figure, type Load, runLoad } from "./load.ts";

const WARM_S = 2;
const ROUND_S = 5;
const one: Load = { operation: "limit", checks: 1 };
const twenty: Load = { operation: "multiLimit", checks: 20 };

export async function measureServers(
  attached: Readonly<Record<string, string>>,
  starts: number,
  log: (line: string) => void,
): Promise<string> {
  const contenders: readonly (readonly [string, Load, () => Promise<ServerProcess>])[] = [
    ["bare node:http", one, () => ServerProcess.bare()],
    ["limit", one, () => ServerProcess.sluice({})],
    ["limit, with Redis and MariaDB", one, () => ServerProcess.sluice(attached)],
    ["multiLimit of 20", twenty, () => ServerProcess.sluice({})],
  ];
  const figures = new Map<string, Figure[]>(contenders.map(([name]) => [name, []]));
  // In turns, and a new process each time: one start of the same code may settle at two thirds of another.
  for (let start = 0; start < starts; start++) {
    for (const [name, load, begin] of contenders) {
      const server = await begin();
      await runLoad(server, load, WARM_S);
      figures.get(name)!.push(await runLoad(server, load, ROUND_S));
      await server.stop();
      log(`${name}: ${figures.get(name)!.at(-1)!.requestsPerSecond.toFixed(0)} requests/s`);
    }
  }

  const of = (name: string, field: keyof Figure) => median(figures.get(name)!.map((figure) => figure[field]));
  const rows = contenders.map(([name, { checks }]) => {
    const floor = name === "limit, with Redis and MariaDB" ? "limit" : "bare node:http";
    const byRate = (checks * of(name, "requestsPerSecond")) / of(floor, "requestsPerSecond");
    const byCpu = (checks * of(floor, "cpuUs")) / of(name, "cpuUs");
    return [
      name,
      of(name, "requestsPerSecond").toFixed(0),
      (checks * of(name, "requestsPerSecond")).toFixed(0),
      of(name, "cpuUs").toFixed(1),
      `${byRate.toFixed(2)} (${floor})`,
      byCpu.toFixed(2),
      of(name, "p50Ms").toFixed(2),
      of(name, "p99Ms").toFixed(2),
      of(name, "failed").toFixed(0),
    ];
  });
  const cores = cpus();
  const head = [
    "server",
    "requests/s",
    "checks/s",
    "CPU µs/request",
    "checks/s as a ratio to",
    "by CPU",
    "p50 ms",
    "p99 ms",
    "not 2xx",
  ];
  const batch = (twenty.checks * of("multiLimit of 20", "requestsPerSecond")) / of("limit", "requestsPerSecond");
  return `# Benchmarks of the server

${cores.length} cores of ${cores[0]?.model ?? "an unknown processor"}; Node ${process.versions.node}; ${starts} starts of each, ${ROUND_S} s each after ${WARM_S} s, in turns; medians; load average ${(loadavg()[0] ?? 0).toFixed(0)} at the end.
\`npm run bench-http --workspace bench -- --write\` makes this page, after \`npm run build\`.

One server process; 64 connections from another core ask again as soon as they are answered, 1,000 identifiers. The bare server parses the
same JSON and answers the same, and does nothing else. CPU is what the server itself used, whatever else the machine did.

${markdownTable(head, rows)}

multiLimit of 20 checks ${batch.toFixed(1)} times as many limits a second as limit.
`;
}
