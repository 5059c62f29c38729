/**
 * How long the event loop stands still in a region whose cells are published to a real database and come back from it.
 *
 * One process with a table of its own, asked about every key once, then about every key again; all of them are sent, read back
 * in a full pass, and looked through; then their windows are over, and the next pass measures them. What is recorded is the time
 * from one turn of the event loop to the next.
 */
import { Limiter } from "sluice";
import { keyText } from "../key-feed.ts";
import type { SqlStore } from "./stores.ts";
import { recordTurns, type Turns } from "./turns.ts";

export interface SqlStall {
  readonly phase: string;
  readonly turns: Turns;
  readonly tookMs: number;
}

/** Keys of one turn: some 100 us of work of our own. */
const KEYS_PER_TURN = 64;
const HOUR_MS = 3_600_000;

export async function measureSqlStalls(store: SqlStore, cells: number, roundMs: number): Promise<SqlStall[]> {
  const server = await store.start();
  let aheadMs = 0;
  const limiter = new Limiter({
    clock: { wallMs: () => Date.now() + aheadMs, monoMs: () => performance.now() },
    region: "eu",
    global: store.open(server),
    floor: 0,
    publishMs: roundMs,
    importMs: roundMs,
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
  /** A pass may be under way: two times all cells are one pass at least, from its begin. */
  const isRead = (from: number) => () => global().cellsImported < from + 2 * cells;
  await watch("read back in full passes", isRead(global().cellsImported));
  aheadMs = HOUR_MS;
  await watch("their windows are over: read and measured", isRead(global().cellsImported));
  await limiter.close();
  await server.stop();
  return stalls;
}
