/**
 * Stops, continues and kills processes, and resolves when the kernel has done it.
 *
 * A signal is delivered asynchronously: after `kill(pid, "SIGSTOP")` returns, threads of the process still run and may answer a
 * request. So each of these waits for what it asked for: every thread stopped, every thread running, or every process ended. The
 * threads and their states are in /proc.
 */
import { readdirSync, readFileSync } from "node:fs";
import { poll } from "./poll.ts";

const STOPPED = ["T", "t"];
/** Zombies and dead threads execute nothing. */
const ENDED = ["Z", "X", "x"];

/** Resolves when every thread of the process is stopped. */
export function freeze(pid: number): Promise<void> {
  return freezeAll(() => [pid]);
}

/** As `freeze`, for a process and its descendants. */
export function freezeTree(pid: number): Promise<void> {
  return freezeAll(() => treeOf(pid));
}

export function thaw(pid: number): Promise<void> {
  return thawAll([pid]);
}

export function thawTree(pid: number): Promise<void> {
  return thawAll(treeOf(pid));
}

/** SIGKILL. Resolves when the process has ended. */
export async function kill(pid: number): Promise<void> {
  signal(pid, "SIGKILL");
  await poll(`the end of process ${pid}`, () => hasEnded(pid));
}

/** SIGKILL to a process and its descendants: whatever answered for it has ended as well. */
export async function killTree(pid: number): Promise<void> {
  // A stopped process forks no child that would be missed. What has ended already needs no stop.
  if (!hasEnded(pid)) await freeze(pid).catch(() => {});
  const tree = treeOf(pid);
  for (const one of tree) signal(one, "SIGKILL");
  await poll(`the end of process ${pid} and its children`, () => tree.every(hasEnded));
}

/** A zombie has ended: its parent, or the machine's first process, may never fetch its exit code. */
export function hasEnded(pid: number): boolean {
  return threadStates(pid).every((state) => ENDED.includes(state));
}

async function freezeAll(pids: () => readonly number[]): Promise<void> {
  const [first] = pids();
  if (first === undefined || hasEnded(first)) throw new Error(`process ${first} has ended and cannot be frozen`);
  await poll(`process ${first} is stopped`, () => {
    // Looked up every time: until it is stopped, a process can start another one.
    const running = pids().filter((pid) => !isStopped(pid));
    for (const pid of running) signal(pid, "SIGSTOP");
    return running.length === 0;
  });
}

async function thawAll(pids: readonly number[]): Promise<void> {
  for (const pid of pids) signal(pid, "SIGCONT");
  await poll(`process ${pids[0]} runs`, () =>
    pids.every((pid) => !threadStates(pid).some((state) => STOPPED.includes(state))),
  );
}

function isStopped(pid: number): boolean {
  return threadStates(pid).every((state) => STOPPED.includes(state) || ENDED.includes(state));
}

/** One letter per thread, as in proc_pid_stat(5). None if there is no such process. */
export function threadStates(pid: number): string[] {
  return threadsOf(pid).flatMap((thread) => {
    const stat = read(`/proc/${pid}/task/${thread}/stat`);
    // The second field is the name in parentheses, and may contain spaces and parentheses.
    return stat === "" ? [] : [stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3)];
  });
}

/** The process, then its descendants. */
export function treeOf(pid: number): number[] {
  const children = threadsOf(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Empty if the thread has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
