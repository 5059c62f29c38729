/** Decisions on a real Redis in which every request names a key that nobody has asked about: what they cost both sides. */
import { poll } from "../../../test/rig/poll.ts";
import type { RedisServer } from "../../../test/rig/redis-server.ts";
import type { RedisContender } from "../redis/contenders.ts";

export interface ColdRound {
  readonly contender: string;
  readonly inFlight: number;
  readonly perSecond: number;
  /** Microseconds of the processor per decision: of the process that asks, and of Redis with what follows later. */
  readonly cpuUs: number;
  readonly redisCpuUs: number;
}

const WARM_MS = 300;
const REPLAYED_WITHIN_MS = 60_000;

export async function runColdRound(
  contender: RedisContender,
  server: RedisServer,
  inFlight: number,
  lengthMs: number,
): Promise<ColdRound> {
  await ask(contender, inFlight, Math.min(WARM_MS, lengthMs), "warm");
  await replayed(contender);
  const redisS = await redisCpuS(server);
  const cpu = process.cpuUsage();
  const { asked, tookMs } = await ask(contender, inFlight, lengthMs, "user");
  await replayed(contender);
  const { user, system } = process.cpuUsage(cpu);
  const redisCpuUs = (((await redisCpuS(server)) - redisS) * 1e6) / asked;
  const { name } = contender;
  return { contender: name, inFlight, perSecond: (asked / tookMs) * 1_000, cpuUs: (user + system) / asked, redisCpuUs };
}

async function ask({ decide }: RedisContender, inFlight: number, lengthMs: number, prefix: string) {
  const beganMs = performance.now();
  const endMs = beganMs + lengthMs;
  let asked = 0;
  const caller = async () => {
    while (performance.now() < endMs) await decide(`${prefix}_${asked++}`);
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return { asked, tookMs: performance.now() - beganMs };
}

/** What a contender tells Redis later belongs to its decisions. */
async function replayed({ unreplayed }: RedisContender): Promise<void> {
  await poll("the last replay", async () => (unreplayed?.() ?? 0) === 0, REPLAYED_WITHIN_MS);
}

async function redisCpuS(server: RedisServer): Promise<number> {
  const text = String(await server.ask("INFO", "cpu"));
  const seconds = (field: string) => Number(new RegExp(`${field}:([\\d.]+)`).exec(text)?.[1]);
  return seconds("used_cpu_user") + seconds("used_cpu_sys");
}
