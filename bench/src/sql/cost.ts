/**
 * What the global layer costs a database: statements, rows and time, by the size of the world.
 *
 * One process asks for all regions in turn, past the rhythm of the layer, so that every call is timed by itself: what a region
 * publishes in a round, what a process imports of it, a full pass, an import that finds nothing, and a cleanup.
 */
import type { CounterRow, Counters } from "sluice";

export interface CostShape {
  readonly cells: number;
  readonly hot: number;
  readonly regions: number;
}

export interface CostFigure {
  readonly what: string;
  readonly statements: number;
  readonly rows: number;
  readonly tookMs: number;
}

/** Rows of one call, as the global layer makes them. */
const ROWS = 512;
const DURATION_MS = 60_000;
const LIVE_MS = 3_600_000;
/** A moment is read again until it is this old. */
const OVERLAP_MS = 1_000;

export async function measureCost(counters: Counters, shape: CostShape): Promise<CostFigure[]> {
  const { cells, hot, regions } = shape;
  const names = Array.from({ length: regions }, (_, i) => `region${i}`);
  const figures: CostFigure[] = [];
  const measure = async (what: string, work: () => Promise<number>) => {
    const statements = () => counters.health?.().statements ?? 0;
    const [before, beganMs] = [statements(), performance.now()];
    const rows = await work();
    figures.push({ what, rows, statements: statements() - before, tookMs: performance.now() - beganMs });
  };
  const publish = async (region: string, count: number, of: number, expiresAtMs = Date.now() + LIVE_MS) => {
    for (let at = 0; at < of; at += ROWS) {
      const rows = Array.from({ length: Math.min(ROWS, of - at) }, (_, i): CounterRow => {
        const key = { workspace: "w", namespace: "n", identifier: `user_${at + i}`, durationMs: DURATION_MS as never };
        return { key, sequence: 7, count, expiresAtMs };
      });
      await counters.publish(region, rows);
    }
    return of;
  };
  let cursor: string | null = null;
  const read = async (from: string | null) => {
    let found = 0;
    for (let ask: string | null | undefined = from; ask !== undefined; ) {
      const page = await counters.read(names[0]!, ask);
      found += page.cells.length;
      [cursor, ask] = [page.cursor, page.rest];
    }
    return found;
  };
  const settle = async () => {
    await new Promise((resolve) => setTimeout(resolve, OVERLAP_MS + 100));
    await read(cursor);
  };
  for (const region of names) await publish(region, 1, cells);
  await measure("a full pass", () => read(null));
  await settle();
  await settle();
  for (const region of names.slice(1)) await publish(region, 2, hot);
  await measure("a region publishes its hot cells", () => publish(names[0]!, 2, hot));
  await measure("a process imports them", () => read(cursor));
  await settle();
  await settle();
  await measure("an import that finds nothing new", () => read(cursor));
  await publish("short", 1, 2 * ROWS, Date.now());
  await measure("a cleanup of 1,000 rows", () => counters.cleanUp(Date.now() + 1_000, 1_000));
  return figures;
}
