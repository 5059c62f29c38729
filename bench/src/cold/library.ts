/**
 * What keys that are not in memory cost the process itself: random identifiers out of a million, over an origin that answers at once and
 * stores nothing. Most requests then are the first of their key, or the first for longer than its freshness.
 *
 * A turn of the event loop brings 64 requests, as a busy server's does. Replays run meanwhile and are part of the figure.
 */
import { Limiter, type LimiterOptions, type Origin } from "sluice";
import { seededRandom } from "../seeded-random.ts";

export const librarySubjects = ["bare", "no-op origin"] as const;
export type LibrarySubject = (typeof librarySubjects)[number];

export interface LibraryOptions {
  readonly keys: number;
  readonly decisions: number;
}

export interface LibraryFigure {
  readonly subject: LibrarySubject;
  /** Microseconds per decision: elapsed, and of the processor (all threads, with the collector's). */
  readonly us: number;
  readonly cpuUs: number;
  /** The part of the requests that waited for the origin. */
  readonly waited: number;
}

const PER_TURN = 64;

export async function measureLibrary(subject: LibrarySubject, options: LibraryOptions): Promise<LibraryFigure> {
  const { keys, decisions } = options;
  const limiter = new Limiter({ cellsMax: keys + PER_TURN, ...layersOf(subject) });
  const rule = limiter.rule({ namespace: "api", limit: 1_000_000_000, duration: "1h" });
  const random = seededRandom(1);
  let waited = 0;
  const cpu = process.cpuUsage();
  const beganMs = performance.now();
  for (let asked = 0; asked < decisions; asked += PER_TURN) {
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < PER_TURN; i++) {
      const answer = rule.decide(`user_${Math.floor(random() * keys)}`);
      if (answer instanceof Promise) waiting.push(answer);
    }
    waited += waiting.length;
    await Promise.all(waiting);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const us = ((performance.now() - beganMs) * 1_000) / decisions;
  const { user, system } = process.cpuUsage(cpu);
  const { denied, degraded } = limiter.stats().decisions;
  if (denied.limit + degraded > 0) throw new Error(`${denied.limit} requests were denied, ${degraded} degraded`);
  await limiter.close();
  return { subject, us, cpuUs: (user + system) / decisions, waited: waited / decisions };
}

function layersOf(subject: LibrarySubject): Pick<LimiterOptions, "origin" | "closeTimeoutMs"> {
  return subject === "bare" ? {} : { origin: noOpOrigin(), closeTimeoutMs: 1_000 };
}

/**
 * Answers what an origin would that holds nothing but what the call itself brought. Only the heartbeat has a sum: without it, every second
 * flush would look like a loss of everything, and the figure would be that of an outage.
 */
function noOpOrigin(): Origin {
  const count = (total: number) => ({ sum: total, component: total });
  const beats = new Map<string, number>();
  const beat = (writer: string, total: number) => {
    beats.set(writer, total);
    return { sum: [...beats.values()].reduce((a, b) => a + b, 0), component: total };
  };
  return {
    read: async (reads) => reads.map(() => count(0)),
    raise: async (raises) =>
      raises.map(({ key, writer, total }) => (key.startsWith("heartbeat:") ? beat(writer, total) : count(total))),
    admit: async (admits) =>
      admits.map(({ total, previousTotal, requests }) => ({
        allowed: requests.map(() => true),
        current: count(requests.reduce((sum, { cost }) => sum + cost, total)),
        previous: count(previousTotal),
      })),
    life: () => 1,
    close: async () => {},
  };
}
