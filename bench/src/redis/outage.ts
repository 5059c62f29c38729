/** What a caller sees when Redis freezes, and when it is gone: a request every few milliseconds, answered or not. */
import type { RedisServer } from "../../../test/rig/redis-server.ts";
import type { RedisContender } from "./contenders.ts";

export interface Outage {
  readonly contender: string;
  readonly trouble: "frozen" | "gone";
  readonly asked: number;
  /** Answered while the trouble lasted: with a decision, or with an error. */
  readonly decided: number;
  readonly failed: number;
  /** Of those that were decided. */
  readonly p99Ms: number;
  readonly longestMs: number;
}

const EVERY_MS = 2;
const KEYS = 100;

export async function runOutage(
  { name, decide }: RedisContender,
  server: RedisServer,
  trouble: Outage["trouble"],
  lengthMs: number,
): Promise<Outage> {
  await Promise.all(Array.from({ length: KEYS }, (_, i) => decide(`user_${i}`)));
  if (trouble === "frozen") await server.freeze();
  else await server.kill();
  const times: number[] = [];
  let asked = 0;
  let failed = 0;
  let isOver = false;
  const endMs = performance.now() + lengthMs;
  while (performance.now() < endMs) {
    const askedMs = performance.now();
    decide(`user_${asked++ % KEYS}`).then(
      () => {
        if (!isOver) times.push(performance.now() - askedMs);
      },
      () => {
        if (!isOver) failed++;
      },
    );
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  isOver = true;
  times.sort((a, b) => a - b);
  const p99Ms = times[Math.floor(times.length * 0.99)] ?? Number.NaN;
  return {
    contender: name,
    trouble,
    asked,
    decided: times.length,
    failed,
    p99Ms,
    longestMs: times.at(-1) ?? Number.NaN,
  };
}
