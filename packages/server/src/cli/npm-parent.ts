/**
 * Notices that npm was told to end. npm passes SIGTERM on to the shell that it runs a script with; where that shell does not replace
 * itself by the server (Debian's), it dies, npm ends, and the server would go on with nobody left to stop it.
 *
 * Only a server that such a shell started in the foreground is stopped by the end of its parent. One in the background (`&`, nohup),
 * in an interactive shell, under systemd, in a container or below a process manager is not: its parent may end as it likes.
 */
import { readFileSync } from "node:fs";
import type { Console } from "../terminal/console.ts";

const LOOK_EVERY_MS = 250;
/** A single `&`, or a command that detaches. */
const BACKGROUND = /(?:^|[^&>])&(?:$|[^&>])|\b(?:nohup|setsid|disown|daemonize)\b/;

/** Calls back once, if it ever happens. */
export function onNpmGone(environment: Console["environment"], callback: () => void): void {
  const parent = process.ppid;
  if (environment["npm_lifecycle_script"] === undefined || !runsInForeground(commandLine(parent))) return;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, LOOK_EVERY_MS);
  timer.unref();
}

/** Whether these words are a shell that runs one command line, and waits for it. */
export function runsInForeground([shell = "", flag, ...texts]: readonly string[]): boolean {
  return /(?:^|\/)(?:ba|da|z|k)?sh$/.test(shell) && flag === "-c" && !BACKGROUND.test(texts.join(" "));
}

/** Empty where the system does not tell: nothing is watched there. */
function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}
