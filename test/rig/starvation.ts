/** How long processes have waited for a processor that others had: what a figure on a busy machine must allow for. */
import { readFileSync } from "node:fs";

/** Of the thread that asks, or of another process's main one, since its start. 0 where the kernel does not tell. */
export function starvedMs(pid: number | "thread-self"): number {
  try {
    // Nanoseconds on a processor, nanoseconds waiting for one, and how often.
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
