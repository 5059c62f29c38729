/**
 * The invariant "Isolation": a tenant's decisions are the same with and without the traffic of all others.
 *
 * A world is run twice from one seed, the second time with every tenant but one silent, and that tenant's decisions are
 * compared one by one. What tenants do share is kept out of it: the table has room for all, no batch names two of them,
 * nothing fails (a breaker is shared), the others stay far from their limits, and no window is so short that its busy keys are renewed
 * ahead of the flush (a cell near its limit, or one that would grow stale, goes ahead, and the next flush of all then comes later).
 */
import type { DecisionEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import type { WorldKey, WorldOptions } from "../model/options.ts";
import { drawOptions } from "../world/draw-options.ts";
import { runWorld } from "../world/world.ts";

export interface IsolationOutcome {
  /** The first difference, or a problem of either world; undefined if there is none. */
  readonly problem: string | undefined;
  /** Decisions of the tenant that were compared, and those of the others that were left out. */
  readonly compared: number;
  readonly others: number;
}

const TENANT = "tenant";
const OTHERS = ["tenan", "tenant:", "t"] as const;
/** What the others' limits are multiplied by. */
const FAR = 1_000;
/** A call is over before the next flush, whoever has something to send; and from windows of 2 s on no key is renewed ahead of it. */
const FLUSH_MS = 50;
const DURATION_MIN_MS = 2_000;

export async function runIsolation(seed: number): Promise<IsolationOutcome> {
  const options = isolated(drawOptions(seed));
  const among = await decisionsOf(seed, options, new Set());
  const alone = await decisionsOf(seed, options, new Set(OTHERS));
  const problem = among.problem ?? alone.problem ?? difference(among.own, alone.own);
  return { problem, compared: alone.own.length, others: among.others };
}

function isolated(options: WorldOptions): WorldOptions {
  const { traffic } = options;
  const keys = options.keys.map((key) => ({ ...key, durationMs: Math.max(DURATION_MIN_MS, key.durationMs) }));
  const far = OTHERS.map((workspace, i): WorldKey => {
    const key = keys[i % keys.length]!;
    return { ...key, workspace, limit: key.limit * FAR };
  });
  return {
    ...options,
    keys: [...keys.map((key) => ({ ...key, workspace: TENANT })), ...far],
    traffic: { ...traffic, batches: 0 },
    cellsMax: 64,
    faults: [],
    features: [],
    flushMs: FLUSH_MS,
  };
}

async function decisionsOf(seed: number, options: WorldOptions, silent: ReadonlySet<string>) {
  const own: string[] = [];
  let others = 0;
  const observe = ({ atMs, process, event }: HistoryLine) => {
    if (event.kind !== "decision") return;
    if (isOfTenant(event)) own.push(describeDecision(atMs, process, event));
    else others++;
  };
  const { problem } = await runWorld(seed, { options, silent, isEven: true, observe });
  return { problem, own, others };
}

function isOfTenant({ key }: DecisionEvent): boolean {
  return key.includes(`:${TENANT.length}:${TENANT}`);
}

/** What a caller can see, and when. Within, an expired slot is swept sooner or later, by whose traffic there is. */
function describeDecision(atMs: number, process: string, event: DecisionEvent): string {
  const { key, sequence, limit, cost, success, isCounted, reason, source, degraded, effective } = event;
  const answer = { success, isCounted, reason, source, degraded, effective };
  return JSON.stringify({ atMs, process, key, sequence, limit, cost, ...answer });
}

function difference(among: readonly string[], alone: readonly string[]): string | undefined {
  const at = alone.findIndex((line, i) => line !== among[i]);
  if (at !== -1) return `isolation: alone ${alone[at]}, among others ${among[at]}`;
  return among.length === alone.length ? undefined : `isolation: ${among.length} decisions, alone ${alone.length}`;
}
