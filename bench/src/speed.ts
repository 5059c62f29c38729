/**
 * One start of one case: every contender in this process, in turns.
 *
 * Each round gives every contender one slice of a few milliseconds, in an order shuffled anew; the figure is the median
 * over the rounds. A machine that slows down, or a collector that wakes up, then meets everyone alike. Who starts again
 * in a new process may settle at another speed, so run.ts repeats starts.
 *
 * Nothing is believed unseen: before the clock starts a contender has to give the answer the case is about, every slice
 * has to end with that answer, and at the end its count of one key has to be the number of calls that were made.
 */
import { type Case, LIMIT_ALLOWED, LIMIT_DENIED } from "./cases.ts";
import type { Instance } from "./contender.ts";
import { type Contender, contenders, type Loop, loadLoop } from "./contenders.ts";
import { type FeedOptions, type KeyFeed, keyFeed, randomOrders, type Slice } from "./key-feed.ts";
import { median } from "./median.ts";
import { seededRandom, shuffle } from "./seeded-random.ts";

export interface SpeedOptions {
  readonly seed: number;
  readonly rounds: number;
  /** Rounds before the first that counts: the optimiser settles, and slices find their length. */
  readonly warmupRounds: number;
  readonly sliceMs: number;
  /** Share of the held keys that is really held: 1, or less to try out the benchmark itself. */
  readonly scale: number;
}

export interface SpeedFigure {
  readonly caseName: Case["name"];
  readonly contender: string;
  /** Nanoseconds per operation of the case; per four calls where the operation is a batch of four. */
  readonly ns: number;
}

/** One contender in this run. */
interface Lane {
  readonly contender: Contender;
  readonly loop: Loop;
  /** Makes the instance and the keys it is given anew. */
  readonly renew: () => Promise<void>;
  /** Whether a single key is asked so often that `renew` has to come between slices. */
  readonly isRenewedPerSlice: boolean;
  instance: Instance;
  feed: KeyFeed;
  /** Set by the warm-up so that a slice takes about `sliceMs`. */
  callsPerSlice: number;
  readonly callsPerSliceMax: number;
  /** Nanoseconds per operation, one a round. */
  readonly samples: number[];
}

/** Room for every held key, and for every key that the never-seen case brings. */
const KEYS_MAX = 1_100_000;
const FRESH_KEYS_MAX = 1_000_000;

/** Calls in the first slice, before anything is known about a contender's speed. */
const CALLS_FIRST = 64;
/** A slice grows by this much at most, for the first ones run unoptimised. */
const CALLS_GROWTH_MAX = 16;

export async function runStart(subject: Case, options: SpeedOptions): Promise<SpeedFigure[]> {
  const random = seededRandom(options.seed);
  const orderOf = randomOrders(random);
  const lanes: Lane[] = [];
  for (const contender of contenders) {
    if (contender.batchSize > subject.batchSize) continue;
    lanes.push(await openLane(contender, subject, options, { random, orderOf }));
  }
  globalThis.gc?.();

  const turns = [...lanes];
  for (let round = -options.warmupRounds; round < options.rounds; round++) {
    shuffle(turns, random);
    for (const lane of turns) {
      const nsPerCall = await runSlice(lane, subject);
      if (round >= 0) lane.samples.push(nsPerCall * (subject.batchSize / lane.contender.batchSize));
      else lane.callsPerSlice = fittingCalls(lane, nsPerCall, options.sliceMs);
    }
  }

  for (const lane of lanes) {
    await verifyCount(lane, subject);
    await lane.instance.close();
  }
  return lanes.map(({ contender, samples }) => ({
    caseName: subject.name,
    contender: contender.name,
    ns: median(samples),
  }));
}

async function openLane(
  contender: Contender,
  subject: Case,
  options: SpeedOptions,
  chance: Pick<FeedOptions, "random" | "orderOf">,
): Promise<Lane> {
  const create = await contender.load();
  const loop = await loadLoop(contender);
  const keysHeld = subject.keysHeld <= 1 ? subject.keysHeld : Math.ceil(subject.keysHeld * options.scale);
  const limit = subject.answer === "denied" ? LIMIT_DENIED : LIMIT_ALLOWED;
  const freshPerSlice = Math.floor((FRESH_KEYS_MAX * options.scale) / (options.warmupRounds + options.rounds));

  const newInstance = (): Instance => create({ keysMax: Math.ceil(KEYS_MAX * options.scale), limit });
  const newFeed = (): KeyFeed => {
    return keyFeed({ strings: subject.strings, keysHeld, batchSize: contender.batchSize, ...chance });
  };
  const isLogged = subject.keysHeld === 1 && subject.answer === "allowed" && contender.hitsPerKeyMax !== undefined;

  const lane: Lane = {
    contender,
    loop,
    instance: newInstance(),
    feed: newFeed(),
    isRenewedPerSlice: isLogged,
    renew: async () => {
      await lane.instance.close();
      lane.instance = newInstance();
      lane.feed = newFeed();
      await fill(lane, subject);
    },
    callsPerSlice: CALLS_FIRST,
    callsPerSliceMax: Math.min(
      isLogged ? contender.hitsPerKeyMax : Number.POSITIVE_INFINITY,
      subject.strings === "fresh" ? freshPerSlice : Number.POSITIVE_INFINITY,
    ),
    samples: [],
  };
  await fill(lane, subject);
  return lane;
}

/** Puts every held key into the table; where the case is about denials, uses its limit up. */
async function fill({ contender, loop, instance, feed }: Lane, subject: Case): Promise<void> {
  if (feed.fill === undefined) return;
  const passes = subject.answer === "denied" ? LIMIT_DENIED : 1;
  for (let pass = 0; pass < passes; pass++) {
    await run(loop, instance, feed.fill);
    verifyAnswer(contender, instance, loop.lastResult(), "allowed", "while the table was filled");
  }
}

async function runSlice(lane: Lane, subject: Case): Promise<number> {
  if (lane.isRenewedPerSlice) await lane.renew();
  const calls = Math.min(lane.callsPerSlice, lane.callsPerSliceMax);
  // Timers and sweeps that are due run now, and the garbage so far is collected: neither belongs to this slice.
  await new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < subject.slicesLeadIn; i++) await run(lane.loop, lane.instance, lane.feed.next(calls));
  const slice = lane.feed.next(calls);
  globalThis.gc?.(true);
  const ns = await run(lane.loop, lane.instance, slice);
  verifyAnswer(lane.contender, lane.instance, lane.loop.lastResult(), subject.answer, `in ${subject.name}`);
  return ns / (slice.to - slice.from);
}

function run(loop: Loop, { call }: Instance, { keys, order, from, to }: Slice): number | Promise<number> {
  return loop.run(call, keys, order, from, to);
}

function fittingCalls(lane: Lane, nsPerCall: number, sliceMs: number): number {
  const fitting = Math.round((sliceMs * 1e6) / nsPerCall);
  return Math.max(CALLS_FIRST, Math.min(fitting, lane.callsPerSlice * CALLS_GROWTH_MAX));
}

function verifyAnswer(
  contender: Contender,
  instance: Instance,
  result: unknown,
  expected: Case["answer"],
  when: string,
): void {
  const answer = instance.isAllowed(result) ? "allowed" : "denied";
  if (answer !== expected) throw new Error(`${contender.name} ${answer} a call that had to be ${expected}, ${when}`);
}

/** One more call for a key whose calls are known: the contender must have counted them all. */
async function verifyCount({ contender, loop, instance, feed }: Lane, subject: Case): Promise<void> {
  const { key, hits } = feed.probe();
  await run(loop, instance, { keys: [key], order: Uint32Array.of(0), from: 0, to: 1 });
  const result = loop.lastResult();
  verifyAnswer(contender, instance, result, subject.answer, `after ${subject.name}`);
  const used = instance.used(result, key);
  // A denial may be counted or not; what was allowed before it was the limit.
  const isCounted = subject.answer === "denied" ? used >= LIMIT_DENIED : used === hits + 1;
  if (!isCounted) throw new Error(`${contender.name} counted ${used} after ${hits + 1} calls, after ${subject.name}`);
}
