/**
 * What requests feel of a database in trouble, and how long after its return everything is there that was accepted.
 *
 * A process asks about a few keys all the time, and holds many that nobody asks about any more. Its requests are timed in a calm
 * while, in another, and in trouble, in turn: what two calm whiles differ by is the machine's. For the return, a row of every key is
 * waited for, and where the requests stopped, the whole sum: asked for every 20 ms, from the moment of the return, or of the loss.
 */
import { Limiter } from "sluice";
import { poll } from "../../../test/rig/poll.ts";
import { median } from "../median.ts";
import type { SqlServer, SqlStore } from "./stores.ts";

export type Trouble = "killed" | "frozen" | "emptied";
export const TROUBLES: readonly Trouble[] = ["killed", "frozen", "emptied"];

export interface SqlOutage {
  /** The 99th percentile of requests, the median of the rounds: calm, troubled by calm, and calm by calm. */
  readonly calmMs: number;
  readonly ratio: number;
  readonly calmRatio: number;
  /** The longest of the rounds. */
  readonly republishedMs: number;
}

export interface OutageShape {
  readonly calmMs: number;
  readonly troubledMs: number;
  readonly rounds: number;
  readonly keys: number;
  readonly roundMs: number;
}

const PER_TURN = 20;
/** One in so many keys is asked about all the time. */
const HOT_ONE_IN = 10;
const EVERY_MS = 20;

export async function measureOutage(store: SqlStore, trouble: Trouble, shape: OutageShape): Promise<SqlOutage> {
  const server = await store.start();
  const { keys, calmMs, troubledMs, rounds, roundMs } = shape;
  const every = { publishMs: roundMs, importMs: roundMs };
  const limiter = new Limiter({ region: "eu", global: store.open(server), floor: 0, ...every });
  let accepted = 0;
  const ask = async (key: number) => {
    await limiter.limit({ namespace: "api", identifier: `user_${key}`, limit: 2 ** 30, duration: "1h" });
    accepted++;
  };
  /** Requests at a steady pace for a while; the 99th percentile of what each took. */
  const askFor = async (forMs: number): Promise<number> => {
    const times: number[] = [];
    const untilMs = performance.now() + forMs;
    for (let next = 0; performance.now() < untilMs; ) {
      for (let i = 0; i < PER_TURN; i++) {
        const beganMs = performance.now();
        await ask((next++ * HOT_ONE_IN) % keys);
        times.push(performance.now() - beganMs);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
  };
  const isThere = async () => {
    const { rows, total } = await stored(server);
    return rows === keys && total >= accepted;
  };
  for (let key = 0; key < keys; key++) await ask(key);
  await poll("published", isThere, 60_000);
  const [calm, ratios, calmRatios, returns]: [number[], number[], number[], number[]] = [[], [], [], []];
  for (let round = 0; round < rounds; round++) {
    const first = await askFor(calmMs);
    const second = await askFor(calmMs);
    await begin(server, trouble);
    const lostMs = performance.now();
    // An emptied table can be looked at meanwhile; the others' return begins when the requests have stopped.
    const isFull = async () => (await stored(server)).rows === keys;
    const filled = trouble === "emptied" ? sinceMs(lostMs, isFull) : null;
    const troubled = await askFor(troubledMs);
    await end(server, trouble);
    returns.push((await filled) ?? (await sinceMs(performance.now(), isThere)));
    await poll("published", isThere, 60_000);
    calm.push(first, second);
    calmRatios.push(second / first);
    ratios.push((2 * troubled) / (first + second));
  }
  await limiter.close();
  await server.stop();
  return {
    calmMs: median(calm),
    ratio: median(ratios),
    calmRatio: median(calmRatios),
    republishedMs: Math.max(...returns),
  };
}

async function begin(server: SqlServer, trouble: Trouble): Promise<void> {
  if (trouble === "killed") await server.process.kill();
  else if (trouble === "frozen") await server.process.freeze();
  else await server.ask("TRUNCATE TABLE sluice_counters");
}

async function end({ process }: SqlServer, trouble: Trouble): Promise<void> {
  if (trouble === "killed") await process.begin();
  else if (trouble === "frozen") await process.thaw();
}

/** How long after a moment something is so. */
async function sinceMs(beganMs: number, isSo: () => Promise<boolean>): Promise<number> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  return performance.now() - beganMs;
}

async function stored(server: SqlServer): Promise<{ readonly rows: number; readonly total: number }> {
  const [row] = await server.ask("SELECT COUNT(*) AS n, COALESCE(SUM(count), 0) AS total FROM sluice_counters");
  return { rows: Number(row?.["n"]), total: Number(row?.["total"]) };
}
