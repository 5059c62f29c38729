/** Real workers that share the origin of their parent, by `fork` and by `node:cluster`, checked by the simulator's checker. */
import type { HistoryLine } from "@sluice/sim";
import { afterEach, describe, expect, test } from "vitest";
import { byLength, figure } from "../rig/length.ts";
import { poll } from "../rig/poll.ts";
import { kill } from "../rig/process-signals.ts";
import { SharedParent } from "../rig/shared-parent.ts";
import { STARVED_MAX_MS } from "../rig/starvation.ts";
import { acceptedOf, admittedRatios, check, flushedMs, sumOf, type WorkerLoad, Workers } from "../rig/workers.ts";

let parent: SharedParent;
let workers: Workers;
let pids: number[] = [];

afterEach(async () => {
  for (const pid of pids.splice(0)) await kill(pid);
  await parent.kill();
  await workers.end();
});

async function begin(load: WorkerLoad, closeTimeoutMs?: number): Promise<{ name: string; pid: number }> {
  const options = workers.prepare(null, load, closeTimeoutMs);
  const pid = await parent.begin(options);
  pids.push(pid);
  return { name: options.name, pid };
}

/** SIGTERM; its exit code. */
async function stop({ name, pid }: { name: string; pid: number }): Promise<string> {
  process.kill(pid, "SIGTERM");
  const how = await parent.ended(name);
  pids = pids.filter((one) => one !== pid);
  return how;
}

const accepted = (name: string) => sumOf(acceptedOf(workers.history(name)));

/** Waits until a worker has accepted so many more. */
async function goesOn(name: string, more: number): Promise<void> {
  const before = accepted(name);
  await poll(`${name} accepts ${more} more`, () => accepted(name) >= before + more, STARVED_MAX_MS);
}

/** Long enough that nothing expires before it was looked at. */
const HOUR: WorkerLoad = { identifiers: 20, perSecond: 1_000, limit: 1_000_000, durationMs: 3_600_000 };

describe("workers of one parent", () => {
  test("cluster: three of them at three times one limit admit what one would, and nobody is denied by mistake", async () => {
    const [windows, durationMs] = byLength({ short: [1, 1_000], ci: [5, 2_000], lab: [30, 2_000] } as const);
    const limit = durationMs / 5;
    const load = { identifiers: 1, perSecond: limit * (1_000 / durationMs), limit, durationMs };
    workers = new Workers(durationMs);
    parent = new SharedParent("cluster");
    const three = await Promise.all([begin(load), begin(load), begin(load)]);
    const first = Math.floor(workers.nowMs() / durationMs) + 1;
    await poll(
      "the windows are over",
      () => workers.nowMs() > (first + windows) * durationMs,
      windows * durationMs + 60_000,
    );
    expect(await Promise.all(three.map(stop))).toEqual(["0", "0", "0"]);
    const history = workers.history();
    const checker = check(history, load, 3);
    expect(checker.problem).toBeUndefined();
    expect(checker.lowerBound.falseDenials).toBe(0);
    const ratios = admittedRatios(history, first, windows, limit);
    figure(`workers of one parent: admitted ÷ limit at most ${Math.max(...ratios).toFixed(3)} in ${windows} windows`);
    // Messages that waited for a processor are late, and the checker has allowed for what was accepted in that time.
    const calm = ratios.filter((_, i) => workers.isCalm(first + i, durationMs));
    for (const ratio of calm) expect(ratio).toBeLessThanOrEqual(1.05);
    expect(Math.max(...ratios)).toBeGreaterThan(0.5);
    expect(parent.said).toBe("");
  }, 150_000);

  test("fork: one is killed, one comes late, the parent is frozen for a while: what is stored is what they accepted", async () => {
    workers = new Workers(HOUR.durationMs);
    parent = new SharedParent("fork");
    const [a, killed, b] = await Promise.all([begin(HOUR), begin(HOUR), begin(HOUR)]);
    await Promise.all([a, killed, b].map(({ name }) => goesOn(name, 200)));
    await kill(killed.pid);
    expect(await parent.ended(killed.name)).toBe("SIGKILL");
    // The parent has a killed worker to answer to, and lives; the late one finds what the others have counted.
    const late = await begin(HOUR);
    await goesOn(late.name, 1);
    workers.noteStall(true);
    await parent.freeze();
    await Promise.all([a, late].map(({ name }) => goesOn(name, byLength({ short: 700, ci: 3_000, lab: 5_000 }))));
    await parent.thaw();
    workers.noteStall(false);
    expect(await Promise.all([stop(a), stop(b)])).toEqual(["0", "0"]);
    // Every key is asked about fifty times a second: its last flush is younger than the others' ends.
    await goesOn(late.name, 200);
    expect(await stop(late)).toBe("0");
    expect(parent.said).toBe("");

    const history = workers.history();
    expect(check(history, HOUR, 4).problem).toBeUndefined();
    const decided = workers.history(late.name).find(({ event }) => event.kind === "decision")?.event;
    expect(decided).toMatchObject({ source: "origin", degraded: false });
    const stopped = [a, b, late].map(({ name }) => acceptedOf(workers.history(name)));
    const ofKilled = workers.history(killed.name);
    const [least, most] = [acceptedOf(ofKilled, flushedMs(ofKilled) - 1), acceptedOf(ofKilled)];
    const stored = new Map<string, number>();
    for (const { event } of workers.history(late.name)) {
      if (event.kind === "raise" && event.isAnswered && event.total > 0)
        stored.set(`${event.key} ${event.sequence} `, event.sum);
    }
    expect(stored.size).toBe(HOUR.identifiers);
    for (const [cell, sum] of stored) {
      const of = (totals: ReadonlyMap<string, number>) =>
        sumOf(new Map([...totals].filter(([name]) => name.startsWith(cell))));
      const known = stopped.reduce((total, totals) => total + of(totals), 0);
      expect(sum - known).toBeGreaterThanOrEqual(of(least));
      expect(sum - known).toBeLessThanOrEqual(of(most));
    }
  }, 300_000);

  test("fork: the parent is killed: its workers go on, degraded, and say at the end what is lost", async () => {
    const load = { ...HOUR, durationMs: 10_000 };
    workers = new Workers(load.durationMs);
    parent = new SharedParent("fork");
    const worker = await begin(load, 300);
    await goesOn(worker.name, 200);
    workers.noteStall(true);
    await parent.kill();
    const killedMs = workers.nowMs();
    // Beyond what is still fresh: half a second of a window of ten.
    const isAlone = ({ atMs, event }: HistoryLine) => atMs > killedMs && event.kind === "decision" && event.degraded;
    await poll("decided without the parent", () => workers.history(worker.name).some(isAlone), STARVED_MAX_MS);
    await goesOn(worker.name, 300);
    process.kill(worker.pid, "SIGTERM");
    const last = () => workers.history(worker.name).at(-1)?.event;
    await poll("it has ended", () => last()?.kind === "stopped", STARVED_MAX_MS);
    const event = last();
    expect(event?.kind === "stopped" && event.lost).toBeGreaterThanOrEqual(300);
    expect(check(workers.history(), load, 1).problem).toBeUndefined();
  }, 300_000);
});
