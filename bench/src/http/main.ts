/** `npm run bench-http`: the server beside a bare one, and what scraping costs it; with `--write` into docs/benchmarks-http.md. */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { MariadbServer } from "../../../test/rig/mariadb-server.ts";
import { RedisServer } from "../../../test/rig/redis-server.ts";
import { sectionOf, withSection } from "../page-section.ts";
import { HEADING, measureScraping, scrapingSection } from "./scraping.ts";
import { measureServers } from "./servers.ts";

const PAGE = new URL("../../../docs/benchmarks-http.md", import.meta.url);
const PARTS = ["servers", "scraping"] as const;

const { values } = parseArgs({
  options: {
    write: { type: "boolean", default: false },
    starts: { type: "string", default: "5" },
    rounds: { type: "string", default: "4" },
    only: { type: "string" },
  },
});
if (values.only !== undefined && !PARTS.some((part) => part === values.only)) {
  process.stderr.write(`--only takes one of ${PARTS.join(", ")}, not ${JSON.stringify(values.only)}\n`);
  process.exit(2);
}
const isWanted = (part: (typeof PARTS)[number]) => values.only === undefined || values.only === part;
const log = (line: string) => process.stderr.write(`${line}\n`);

const redis = await RedisServer.start();
const mariadb = await MariadbServer.start();
const attached = { SLUICE_REDIS_URL: redis.url, SLUICE_SQL_URL: mariadb.url(), SLUICE_REGION: "bench" };
const before = await readFile(PAGE, "utf8");
const servers = isWanted("servers") ? await measureServers(attached, Number(values.starts), log) : before;
const scraping = isWanted("scraping")
  ? scrapingSection(await measureScraping(attached, Number(values.rounds), log))
  : sectionOf(before, HEADING);
await mariadb.stop();
await redis.stop();

const page = scraping === "" ? servers : withSection(servers, HEADING, scraping);
process.stdout.write(page);
if (values.write) await writeFile(PAGE, page);
process.exit(0);
