/**
 * What scraping /metrics costs a server that knows ten thousand namespaces.
 *
 * The precise measure is processor time: what one scrape takes of the server, over the interval of scraping. The throughput with and
 * without scraping stands beside it; its noise is larger than what is looked for.
 */
import { loadavg } from "node:os";
import { poll } from "../../../test/rig/poll.ts";
import { median } from "../median.ts";
import { markdownTable } from "../table.ts";
import { ServerProcess, TOKEN } from "./contenders.ts";
import { type Figure, runLoad } from "./load.ts";

export const HEADING = "## Scraping";
const NAMESPACES = 10_000;
/** Prometheus's own default is a minute; 15 s is what most set. */
const INTERVAL_S = 15;
const SCRAPES = 200;
const CALLERS = 32;
const READY_WITHIN_MS = 30_000;

export interface ScrapingFigure {
  readonly series: number;
  readonly bytes: number;
  /** What one scrape takes of the server's processor. */
  readonly cpuMs: number;
  readonly without: Throughput;
  readonly scraped: Throughput;
}

type Throughput = Pick<Figure, "requestsPerSecond" | "cpuUs">;

export async function measureScraping(
  env: Readonly<Record<string, string>>,
  rounds: number,
  log: (line: string) => void,
): Promise<ScrapingFigure> {
  const server = await ServerProcess.sluice(env);
  try {
    await poll("a server that is ready", async () => (await fetch(`${server.opsUrl}/ready`)).ok, READY_WITHIN_MS);
    await askInAll(server.url);
    log(`${NAMESPACES} namespaces are in use`);
    for (let i = 0; i < SCRAPES; i++) await scrape(server.opsUrl);
    const text = await scrape(server.opsUrl);
    const cpuMs = await cpuOfScrape(server);
    log(`one scrape: ${cpuMs.toFixed(2)} ms of processor`);
    const figures = { without: [] as Figure[], scraped: [] as Figure[] };
    for (let round = 0; round < rounds; round++) {
      // The other way round every second time: what drifts meanwhile meets both.
      for (const name of round % 2 === 0 ? (["without", "scraped"] as const) : (["scraped", "without"] as const)) {
        const figure = await throughput(server, name === "scraped");
        figures[name].push(figure);
        log(`${name}: ${figure.requestsPerSecond.toFixed(0)} requests/s, ${figure.cpuUs.toFixed(1)} µs each`);
      }
    }
    const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length;
    const { without, scraped } = figures;
    return { series, bytes: text.length, cpuMs, without: middle(without), scraped: middle(scraped) };
  } finally {
    await server.stop();
  }
}

/** What a namespace's first request makes is kept in the database: some milliseconds each. */
async function askInAll(url: string): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  let next = 0;
  const caller = async () => {
    while (next < NAMESPACES) {
      const body = JSON.stringify({ namespace: `space_${next++}`, identifier: "user", limit: 1, duration: 60_000 });
      // Twice: allowed, then denied.
      for (let i = 0; i < 2; i++) {
        const response = await fetch(`${url}/v2/ratelimit.limit`, { method: "POST", headers, body });
        if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
        await response.arrayBuffer();
      }
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

async function scrape(opsUrl: string): Promise<string> {
  return (await fetch(`${opsUrl}/metrics`)).text();
}

/** Less what the server does in the same time by itself. */
async function cpuOfScrape(server: ServerProcess): Promise<number> {
  const [beganMs, before] = [performance.now(), server.cpuS];
  for (let i = 0; i < SCRAPES; i++) await scrape(server.opsUrl);
  const [tookMs, used] = [performance.now() - beganMs, server.cpuS - before];
  const idleBefore = server.cpuS;
  await new Promise((resolve) => setTimeout(resolve, tookMs));
  return ((used - (server.cpuS - idleBefore)) / SCRAPES) * 1_000;
}

function middle(figures: readonly Figure[]): Throughput {
  const of = (field: keyof Throughput) => median(figures.map((figure) => figure[field]));
  return { requestsPerSecond: of("requestsPerSecond"), cpuUs: of("cpuUs") };
}

/** A round is one interval long, with one scrape in its middle or none. */
async function throughput(server: ServerProcess, isScraped: boolean): Promise<Figure> {
  const load = runLoad(server, { operation: "limit", checks: 1 }, INTERVAL_S);
  const timer = isScraped ? setTimeout(() => void scrape(server.opsUrl).catch(() => {}), INTERVAL_S * 500) : undefined;
  const figure = await load;
  clearTimeout(timer);
  return figure;
}

export function scrapingSection({ series, bytes, cpuMs, without, scraped }: ScrapingFigure): string {
  const share = (100 * cpuMs) / (INTERVAL_S * 1_000);
  const met = (isMet: boolean) => (isMet ? "met" : "**missed**");
  const ratio = (one: number, other: number) => `ratio ${(one / other).toFixed(3)}`;
  const rows = [
    ["series", String(series), `at most 2,000: ${met(series <= 2_000)}`],
    ["bytes of one answer", String(bytes), ""],
    ["processor time of one scrape, ms", cpuMs.toFixed(2), ""],
    [`of a core, with one every ${INTERVAL_S} s`, `${share.toFixed(3)} %`, `under 1 %: ${met(share < 1)}`],
    ["CPU µs/request, without scraping", without.cpuUs.toFixed(1), ""],
    ["CPU µs/request, with", scraped.cpuUs.toFixed(1), ratio(scraped.cpuUs, without.cpuUs)],
    ["requests/s, without scraping", without.requestsPerSecond.toFixed(0), ""],
    [
      "requests/s, with",
      scraped.requestsPerSecond.toFixed(0),
      ratio(scraped.requestsPerSecond, without.requestsPerSecond),
    ],
  ];
  return `${HEADING}

One server process with Redis and MariaDB, in which ${NAMESPACES} namespaces are in use. Processor time is the server's, over ${SCRAPES} scrapes, less what it does
by itself meanwhile: that is the measure. The rest are medians of rounds of ${INTERVAL_S} s in turns, with one scrape or none, as the first table's; their
noise is larger than what is looked for, the more so at a load average of ${(loadavg()[0] ?? 0).toFixed(0)}, as here. \`npm run bench-http --workspace bench -- --only scraping --write\` makes this section.

${markdownTable(["", "measured", "to reach"], rows)}
`;
}
