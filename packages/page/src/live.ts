/**
 * The live stream: one `fetch` for the whole page, read as server-sent events, with what was seen of it in memory of a fixed size.
 *
 * A stream that breaks is opened again, later each time; one that the server ends because of the key is not. While paused, snapshots are read and not
 * shown, so that the numbers continue where they are when it goes on.
 */
import { computed, signal } from "@preact/signals";
import type { Snapshot, Sums } from "./answers.ts";
import { CallError, key, send } from "./api.ts";

/** Rates of one second. */
export interface Rates {
  readonly at: number;
  readonly allowed: number;
  readonly denied: number;
  readonly shadowed: number;
  readonly degraded: number;
}

/** Seconds that are held: an hour. */
const POINTS_MAX = 3_600;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 5_000;

export type StreamState = "connecting" | "live" | "away" | "forbidden";

export const state = signal<StreamState>("connecting");
export const isPaused = signal(false);
/** The last snapshot that is shown, and the one before it. */
const shown = signal<{ readonly now: Snapshot; readonly before: Snapshot | null } | null>(null);
/** Changes with every point that is shown. */
export const points = signal<readonly Rates[]>([]);
export const reason = signal("");

export const snapshot = computed(() => shown.value?.now ?? null);
/** Of the last ten seconds: what a single second has would jump. */
export const rates = computed<Rates | null>(() => {
  const last = points.value.slice(-5);
  if (last.length === 0) return null;
  const mean = (read: (one: Rates) => number) => last.reduce((sum, one) => sum + read(one), 0) / last.length;
  return {
    at: last.at(-1)!.at,
    allowed: mean(({ allowed }) => allowed),
    denied: mean(({ denied }) => denied),
    shadowed: mean(({ shadowed }) => shadowed),
    degraded: mean(({ degraded }) => degraded),
  };
});

/** The time that this share of requests took at most, in seconds, of the last snapshots; null if there were none. */
export const latency = computed(() => {
  const pair = shown.value;
  const now = pair?.now.server?.latency;
  if (now === undefined || pair === null) return null;
  const before = base?.server?.latency;
  const counts = now.map(({ count }, at) => count - (before?.[at]?.count ?? 0));
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return { p50: null, p99: null };
  const quantile = (share: number) => {
    let sum = 0;
    const at = counts.findIndex((count) => {
      sum += count;
      return sum >= share * total;
    });
    return now[at]?.atMostS ?? Number.POSITIVE_INFINITY;
  };
  return { p50: quantile(0.5), p99: quantile(0.99) };
});

/** A snapshot of about half a minute ago, against which the latency is taken. */
let base: Snapshot | null = null;
const recent: Snapshot[] = [];
let last: Snapshot | null = null;
const held: Rates[] = [];
let stop: AbortController | null = null;

/** Opens the stream; again with another key. */
export function start(): void {
  end();
  const controller = new AbortController();
  stop = controller;
  state.value = "connecting";
  void run(controller.signal);
}

export function end(): void {
  stop?.abort();
  stop = null;
  last = null;
  base = null;
  recent.length = 0;
  held.length = 0;
  shown.value = null;
  points.value = [];
}

async function run(signal: AbortSignal): Promise<void> {
  for (let retryMs = RETRY_MIN_MS; !signal.aborted; ) {
    try {
      const response = await send("ratelimit.live", {}, key.value, signal);
      retryMs = RETRY_MIN_MS;
      await read(response, signal);
    } catch (error) {
      if (signal.aborted) return;
      const problem = error instanceof CallError ? error : null;
      reason.value = problem?.message ?? "The stream was interrupted.";
      if (problem?.status === 403 || problem?.status === 401) {
        state.value = "forbidden";
        return;
      }
    }
    if (signal.aborted) return;
    state.value = "away";
    await new Promise((resolve) => setTimeout(resolve, retryMs));
    retryMs = Math.min(RETRY_MAX_MS, 2 * retryMs);
  }
}

async function read(response: Response, signal: AbortSignal): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!signal.aborted) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) take(event);
  }
}

function take(event: string): void {
  const data = /^data: (.*)$/m.exec(event)?.[1];
  if (data === undefined) return;
  if (event.startsWith("event: end")) {
    reason.value = (JSON.parse(data) as { detail: string }).detail;
    return;
  }
  const now = JSON.parse(data) as Snapshot;
  state.value = "live";
  const before = last;
  last = now;
  // A server that was started again counts from zero.
  if (before !== null && now.at > before.at && now.totals.allowed >= before.totals.allowed) {
    held.push(ratesOf(now, before));
    if (held.length > POINTS_MAX) held.shift();
  }
  recent.push(now);
  if (recent.length > 30) recent.shift();
  if (isPaused.value) return;
  base = recent[0] ?? null;
  shown.value = { now, before };
  points.value = held.slice();
}

function ratesOf(now: Snapshot, before: Snapshot): Rates {
  const seconds = (now.at - before.at) / 1_000;
  const rate = (read: (sums: Sums) => number) => Math.max(0, (read(now.totals) - read(before.totals)) / seconds);
  return {
    at: now.at,
    allowed: rate(({ allowed }) => allowed),
    denied: rate(({ denied }) => denied),
    shadowed: rate(({ shadowed }) => shadowed),
    degraded: rate(({ degraded }) => degraded),
  };
}
