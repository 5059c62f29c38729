/**
 * What requests feel of a database in trouble: the 99th percentile of their times, calm and troubled in turn, and how long after
 * the return everything is published that was accepted meanwhile.
 */
import { Limiter } from "sluice";
import { mysqlCounters } from "sluice/mysql";
import type { MariadbServer } from "../../../test/rig/mariadb-server.ts";
import { poll } from "../../../test/rig/poll.ts";

export interface SqlOutage {
  readonly trouble: string;
  /** Troubled by calm, the median of the rounds. */
  readonly ratio: number;
  /** The longest of the rounds. */
  readonly republishedMs: number;
}

type Trouble = "killed" | "frozen" | "emptied";
/** The last one takes as long as a full pass is away. */
export const TROUBLES: readonly Trouble[] = ["killed", "frozen", "emptied"];
const KEYS = 500;
const PER_TURN = 20;

export async function measureOutage(
  server: MariadbServer,
  trouble: Trouble,
  { forMs, rounds }: { readonly forMs: number; readonly rounds: number },
): Promise<SqlOutage> {
  const limiter = new Limiter({ region: "eu", global: mysqlCounters({ url: server.url() }), floor: 0 });
  const ratios: number[] = [];
  const returns: number[] = [];
  let next = 0;
  /** Requests at a steady pace for a while; the 99th percentile of what each took. */
  const ask = async (untilMs: number): Promise<number> => {
    const times: number[] = [];
    while (performance.now() < untilMs) {
      for (let i = 0; i < PER_TURN; i++) {
        const beganMs = performance.now();
        await limiter.limit({ namespace: "api", identifier: `user_${next++ % KEYS}`, limit: 2 ** 30, duration: "1h" });
        times.push(performance.now() - beganMs);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
  };
  await ask(performance.now() + forMs / 4);
  await poll("published", async () => (await storedTotal(server)) === next, 60_000);
  for (let round = 0; round < rounds; round++) {
    const calmMs = await ask(performance.now() + forMs);
    if (trouble === "killed") await server.process.kill();
    else if (trouble === "frozen") server.process.freeze();
    else await server.ask("TRUNCATE TABLE sluice_counters");
    const returnedMs = performance.now();
    const troubledMs = await ask(performance.now() + forMs);
    ratios.push(troubledMs / calmMs);
    if (trouble === "killed") await server.process.begin();
    else if (trouble === "frozen") server.process.thaw();
    const beganMs = trouble === "emptied" ? returnedMs : performance.now();
    await poll("republished", async () => (await storedTotal(server)) === next, 60_000);
    returns.push(performance.now() - beganMs);
  }
  await limiter.close();
  ratios.sort((a, b) => a - b);
  return { trouble, ratio: ratios[ratios.length >> 1]!, republishedMs: Math.max(...returns) };
}

async function storedTotal(server: MariadbServer): Promise<number> {
  const [row] = await server.ask("SELECT COALESCE(SUM(count), 0) AS total FROM sluice_counters");
  return Number(row?.["total"]);
}
