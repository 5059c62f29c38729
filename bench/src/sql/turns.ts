/**
 * Turns of the event loop, by the time from one to the next, and by the processor time that the main thread had in it: on a busy
 * machine the former is mostly what others took. Linux tells the latter in /proc/self/schedstat; elsewhere it is 0.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { createHistogram } from "node:perf_hooks";

export interface Turns {
  readonly count: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** Of processor time. */
  readonly busiestMs: number;
}

/** Runs `turn` once per turn of the event loop until it returns false. */
export async function recordTurns(turn: () => boolean): Promise<Turns> {
  const gapsNs = createHistogram();
  const stat = openStat();
  let busiestNs = 0;
  let [beganMs, busyNs] = [performance.now(), stat.busyNs()];
  for (let isOn = true; isOn; ) {
    isOn = turn();
    await new Promise((resolve) => setImmediate(resolve));
    const [nowMs, nowBusyNs] = [performance.now(), stat.busyNs()];
    gapsNs.record(Math.max(1, Math.round((nowMs - beganMs) * 1e6)));
    busiestNs = Math.max(busiestNs, nowBusyNs - busyNs);
    [beganMs, busyNs] = [nowMs, nowBusyNs];
  }
  stat.close();
  const [maxMs, p999Ms] = [gapsNs.max / 1e6, gapsNs.percentile(99.9) / 1e6];
  return { count: gapsNs.count, p999Ms, maxMs, busiestMs: busiestNs / 1e6 };
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
