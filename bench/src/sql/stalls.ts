/**
 * How long the event loop stands still in a region whose cells are published to a real database and come back from it.
 *
 * One process with a table of its own, asked about every key once, then about every key again; all of them are sent, read back
 * in full passes, and looked through. What is recorded is the time from one turn of the event loop to the next.
 */
import { Limiter } from "sluice";
import { mysqlCounters } from "sluice/mysql";
import { postgresCounters } from "sluice/postgres";
import { keyText } from "../key-feed.ts";
import { recordTurns, type Turns } from "./turns.ts";

export interface SqlStall {
  readonly phase: string;
  readonly turns: Turns;
  readonly tookMs: number;
}

/** Keys of one turn: some 100 us of work of our own. */
const KEYS_PER_TURN = 64;

/** `readMs`: how long full passes are watched at the end. */
export async function measureSqlStalls(
  url: string,
  cells: number,
  tablePrefix: string,
  readMs: number,
): Promise<SqlStall[]> {
  const options = { url, tablePrefix };
  const limiter = new Limiter({
    region: "eu",
    global: url.startsWith("mysql") ? mysqlCounters(options) : postgresCounters(options),
    floor: 0,
    cellsMax: Math.ceil(cells * 1.1),
  });
  const stalls: SqlStall[] = [];
  const global = () => limiter.stats().global!;
  const watch = async (phase: string, turn: () => boolean) => {
    const beganMs = performance.now();
    const turns = await recordTurns(turn);
    stalls.push({ phase, turns, tookMs: performance.now() - beganMs });
  };
  const askAll = () => {
    let next = 0;
    return () => {
      const until = Math.min(next + KEYS_PER_TURN, cells);
      for (; next < until; next++) {
        void limiter.decide({ namespace: "api", identifier: keyText(next), limit: 100, duration: "1h", cost: 1 });
      }
      return next < cells;
    };
  };
  const isPublished = (rows: number) => () => global().rowsPublished < rows || global().unpublished > 0;
  await watch("keys asked about for the first time", askAll());
  await watch("and published to the last", isPublished(cells));
  await watch("all asked about again", askAll());
  await watch("and published again", isPublished(cells));
  const endMs = performance.now() + readMs;
  await watch("read back in full passes", () => performance.now() < endMs);
  await limiter.close();
  return stalls;
}
