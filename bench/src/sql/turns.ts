/**
 * Turns of the event loop, by the time from one to the next, and by the processor time that the main thread had in it: on a busy
 * machine the former is mostly what others took. Linux tells the latter in /proc/self/schedstat, to the machine's tick of some
 * milliseconds; elsewhere it is 0.
 *
 * The collector runs within turns too. What part of a turn was its own is told by the profiler's samples and by the collector's entries in
 * `perf_hooks`: the larger of the two, because the former are few where the machine is busy, and the latter leave pauses out.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { type Profiler, Session } from "node:inspector/promises";
import { createHistogram, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";

export interface Turns {
  readonly count: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** Of processor time: the most of one turn, and the most without the collector's part. */
  readonly busiestMs: number;
  readonly busiestOwnMs: number;
  /** The function that had most of the latter turn. */
  readonly busiestOwn: string;
  /** Turns with more than 20 ms of processor time: all, and those that have them without the collector's part. */
  readonly over: number;
  readonly overOwn: number;
}

/** On the clock of the profiler. */
interface Span {
  readonly beganUs: number;
  readonly endedUs: number;
}

interface Turn extends Span {
  readonly busyMs: number;
}

/** Turns below this are of no interest one by one. */
const BUSY_MIN_MS = 3;
/** What is called a stall. */
const STALL_MS = 20;
const SAMPLE_US = 500;
const COLLECTOR = "(garbage collector)";

/** Runs `turn` once per turn of the event loop until it returns false. */
export async function recordTurns(turn: () => boolean): Promise<Turns> {
  const gapsNs = createHistogram();
  const stat = openStat();
  const busy: Turn[] = [];
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: SAMPLE_US });
  await session.post("Profiler.start");
  const pauses: PerformanceEntry[] = [];
  const observer = new PerformanceObserver((list) => pauses.push(...list.getEntries()));
  observer.observe({ entryTypes: ["gc"] });
  const aheadUs = Number(process.hrtime.bigint()) / 1e3 - performance.now() * 1e3;
  let [beganNs, busyNs] = [process.hrtime.bigint(), stat.busyNs()];
  for (let isOn = true; isOn; ) {
    isOn = turn();
    await new Promise((resolve) => setImmediate(resolve));
    const [endedNs, nowBusyNs] = [process.hrtime.bigint(), stat.busyNs()];
    gapsNs.record(endedNs - beganNs);
    // No turn had more than it lasted, whatever the tick says.
    const busyMs = Math.min(nowBusyNs - busyNs, Number(endedNs - beganNs)) / 1e6;
    if (busyMs >= BUSY_MIN_MS) busy.push({ beganUs: Number(beganNs) / 1e3, endedUs: Number(endedNs) / 1e3, busyMs });
    [beganNs, busyNs] = [endedNs, nowBusyNs];
  }
  stat.close();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  // The last entries are handed over in a turn of their own.
  await new Promise((resolve) => setTimeout(resolve, 1));
  observer.disconnect();
  const told = pauses.map(({ startTime, duration }) => {
    const beganUs = startTime * 1e3 + aheadUs;
    return { beganUs, endedUs: beganUs + duration * 1e3 };
  });
  const own = ownParts(busy, profile, told);
  const busiest = own.reduce((most, one) => (one.ownMs > most.ownMs ? one : most), { ownMs: 0, mostly: "" });
  return {
    count: gapsNs.count,
    p999Ms: gapsNs.percentile(99.9) / 1e6,
    maxMs: gapsNs.max / 1e6,
    busiestMs: Math.max(0, ...busy.map(({ busyMs }) => busyMs)),
    busiestOwnMs: busiest.ownMs,
    busiestOwn: busiest.mostly,
    over: busy.filter(({ busyMs }) => busyMs > STALL_MS).length,
    overOwn: own.filter(({ ownMs }) => ownMs > STALL_MS).length,
  };
}

/** Of each turn the processor time that was not the collector's, and the function that had most of it. Turns are in order. */
function ownParts(turns: readonly Turn[], profile: Profiler.Profile, pauses: readonly Span[]) {
  const { nodes, samples = [], timeDeltas = [], startTime } = profile;
  const names = new Map(nodes.map(({ id, callFrame }) => [id, callFrame.functionName || "(no name)"]));
  let [at, sampledUs] = [0, startTime];
  return turns.map(({ beganUs, endedUs, busyMs }) => {
    const byName = new Map<string, number>();
    let count = 0;
    for (; at < samples.length && sampledUs <= endedUs; at++) {
      sampledUs += timeDeltas[at]!;
      if (sampledUs < beganUs || sampledUs > endedUs) continue;
      const name = names.get(samples[at]!) ?? "";
      byName.set(name, (byName.get(name) ?? 0) + 1);
      count++;
    }
    const sampled = count === 0 ? 0 : (byName.get(COLLECTOR) ?? 0) / count;
    const told = pauses.reduce((sum, pause) => sum + overlapUs(pause, { beganUs, endedUs }), 0) / (endedUs - beganUs);
    byName.delete(COLLECTOR);
    const [mostly = ""] = [...byName].sort(([, a], [, b]) => b - a)[0] ?? [];
    return { ownMs: busyMs * (1 - Math.min(1, Math.max(sampled, told))), mostly };
  });
}

function overlapUs(one: Span, other: Span): number {
  return Math.max(0, Math.min(one.endedUs, other.endedUs) - Math.max(one.beganUs, other.beganUs));
}

/** The processor time of the main thread so far. */
function openStat(): { busyNs(): number; close(): void } {
  const text = Buffer.alloc(128);
  try {
    const file = openSync("/proc/self/schedstat", "r");
    return {
      busyNs: () => Number(text.toString("latin1", 0, readSync(file, text, 0, text.length, 0)).split(" ")[0]),
      close: () => closeSync(file),
    };
  } catch {
    return { busyNs: () => 0, close: () => {} };
  }
}
