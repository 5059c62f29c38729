/** Runs one chunk in a process of its own, and collects what it leaves. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { start } from "../../test/rig/child-processes.ts";
import type { Chunk, Done } from "./part.ts";

/** What is kept of the output of a chunk that failed; the log has all of it. */
const SAID_LINES = 40;
/** Then a chunk that was asked to end is killed. */
const END_WITHIN_MS = 10_000;

export interface ChunkPlace {
  readonly root: string;
  /** Logs and results; of one part. */
  readonly folder: string;
  /** Ends the chunk. */
  readonly stop: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

/** Undefined: it was stopped before its end. */
export async function runChunk(
  chunk: Chunk,
  { root, folder, stop, onProgress }: ChunkPlace,
): Promise<Done | undefined> {
  mkdirSync(folder, { recursive: true });
  const name = chunk.id.replaceAll(/[^\w.-]/g, "_");
  const file = (ending: string) => join(folder, `${name}.${ending}`);
  const [result, figures, log] = [file("result"), file("figures"), file("log")];
  for (const path of [result, figures]) rmSync(path, { force: true });
  writeFileSync(log, "");

  const env = { ...process.env, ...chunk.env, SLUICE_LAB_RESULT: result, SLUICE_LAB_FIGURES: figures };
  // A group of its own: Ctrl-C reaches the lab alone, which then ends the whole group.
  const child = start(process.execPath, chunk.args, {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const endGroup = (signal: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, signal);
    } catch {
      // It has ended.
    }
  };
  let killing: NodeJS.Timeout | undefined;
  let hasTimedOut = false;
  const onStop = () => {
    endGroup("SIGTERM");
    killing = setTimeout(() => endGroup("SIGKILL"), END_WITHIN_MS);
  };
  if (stop.aborted) onStop();
  stop.addEventListener("abort", onStop, { once: true });
  const timer =
    chunk.timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          hasTimedOut = true;
          endGroup("SIGKILL");
        }, chunk.timeoutMs);

  const last: string[] = [];
  const hear = (line: string) => {
    appendFileSync(log, `${line}\n`);
    last.push(line);
    if (last.length > SAID_LINES) last.shift();
    const fraction = chunk.progressOf?.(line);
    if (fraction !== undefined) onProgress(fraction);
  };
  for (const input of [child.stdout!, child.stderr!]) createInterface({ input }).on("line", hear);
  const code = await new Promise<number | null>((resolve) => {
    child.once("close", (exitCode) => resolve(exitCode));
    child.once("error", (error) => {
      hear(error.message);
      resolve(null);
    });
  });
  stop.removeEventListener("abort", onStop);
  clearTimeout(killing);
  clearTimeout(timer);
  // What it started must not run on beside the next chunk.
  endGroup("SIGKILL");
  if (stop.aborted) return undefined;

  if (hasTimedOut) last.push(`ended after ${chunk.timeoutMs! / 1_000} s`);
  const isGreen = code === 0;
  return {
    isGreen,
    data: existsSync(result) ? (JSON.parse(readFileSync(result, "utf8")) as unknown) : null,
    figures: existsSync(figures)
      ? readFileSync(figures, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as string)
      : [],
    said: isGreen ? "" : last.join("\n"),
  };
}
