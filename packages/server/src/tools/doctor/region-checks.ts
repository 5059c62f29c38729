/**
 * Whether the name of this server's region is used as it should be: by one origin (a Redis), which has no other name now.
 *
 * It reads the registrations that running servers renew every ten seconds (table `sluice_origins`). Times are compared with this
 * machine's clock; another check says how far that is from the database's.
 */
import { tablesOf } from "sluice/internal";
import type { SqlLink } from "../../admin/sql-link.ts";
import { type Finding, ok, warn } from "./finding.ts";

/** Both registered within this time: in use at the same time. */
const LIVE_MS = 25_000;
const PAIRS_MAX = 1_000;
const SUBJECT = "region name";
const DOCS = "(docs/operating.md, Region names)";

export async function regionFinding(link: SqlLink, region: string, nowMs: number): Promise<Finding> {
  const name = region.replaceAll("\\", "\\\\").replaceAll("\0", "\\0");
  const { origins: table } = tablesOf();
  const rows = await link.ask((run) =>
    run(
      `SELECT region, origin, seen_at FROM ${table}
        WHERE origin IN (SELECT origin FROM ${table} WHERE region = ?) LIMIT ${PAIRS_MAX}`,
      name,
    ),
  );
  const pairs = rows.map((row) => ({
    region: row["region"] instanceof Uint8Array ? Buffer.from(row["region"]).toString() : String(row["region"]),
    origin: String(row["origin"]),
    isLive: nowMs - Number(row["seen_at"]) < LIVE_MS,
  }));
  const origins = pairs.filter((pair) => pair.region === name && pair.isLive);
  if (origins.length > 1) {
    const text = `${JSON.stringify(region)} is used by ${origins.length} origins now, which hide each other's counts`;
    return warn(SUBJECT, text, `give each region its own name, and all servers of a region one Redis ${DOCS}`);
  }
  const others = pairs.filter((pair) => pair.region !== name);
  const live = listOf(others.filter(({ isLive }) => isLive));
  if (live !== "") {
    const text = `the Redis of ${JSON.stringify(region)} is in use under other names at the same time: ${live}`;
    return warn(SUBJECT, text, `give all servers that share one Redis the same region name ${DOCS}`);
  }
  const past = listOf(others);
  if (past !== "") return ok(SUBJECT, `${JSON.stringify(region)}, before that ${past}: those rows count as its own`);
  return ok(SUBJECT, `${JSON.stringify(region)}, and its Redis has no other region name`);
}

function listOf(pairs: readonly { readonly region: string }[]): string {
  const names = [...new Set(pairs.map(({ region }) => JSON.stringify(region)))];
  return names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
}
