/** Decisions a second and how long each took, with a fixed number of callers at once, each asking again when it is answered. */
import type { RedisContender } from "./contenders.ts";

export interface Round {
  readonly contender: string;
  readonly callers: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const KEYS = 1_000;
/** Every so many answers one is timed: a clock read costs as much as a decision in memory. */
const TIMED_EVERY = 7;
const ANSWERS_PER_TURN = 256;

export async function runRound({ name, decide }: RedisContender, callers: number, lengthMs: number): Promise<Round> {
  const times: number[] = [];
  const beganMs = performance.now();
  const endMs = beganMs + lengthMs;
  let asked = 0;
  let isOver = false;
  const turns = new Turns();
  const caller = async () => {
    while (!isOver) {
      const at = asked++;
      const isTimed = at % TIMED_EVERY === 0;
      const askedMs = isTimed ? performance.now() : 0;
      await decide(`user_${at % KEYS}`);
      if (turns.isDue()) await turns.next();
      if (!isTimed) continue;
      const nowMs = performance.now();
      times.push(nowMs - askedMs);
      if (nowMs < endMs) continue;
      isOver = true;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  times.sort((a, b) => a - b);
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
  const tookMs = performance.now() - beganMs;
  return { contender: name, callers, perSecond: (asked / tookMs) * 1_000, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Answers from memory never let the event loop turn by themselves; a server's requests come some hundred at a time, and do. */
class Turns {
  #left = ANSWERS_PER_TURN;
  #turn: Promise<void> | undefined;

  isDue(): boolean {
    return --this.#left <= 0;
  }

  next(): Promise<void> {
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#left = ANSWERS_PER_TURN;
        this.#turn = undefined;
        resolve();
      });
    });
    return this.#turn;
  }
}
