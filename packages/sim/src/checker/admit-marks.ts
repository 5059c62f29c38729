/** The marks of calls to an origin (`admit`): whether what can go wrong with one came up, and whether there was anything to compete for. */
import type { DecisionEvent } from "sluice";
import type { HistoryLine, WorldEvent } from "../model/history.ts";
import { isOfOtherWindow } from "./part.ts";
import type { Truth } from "./truth.ts";

export type AdmitMark =
  | "admit-of-several"
  | "admit-refused"
  | "admit-reply-lost"
  | "admit-executed-late"
  | "admit-repeated"
  | "admit-outlasted-its-window"
  | "admit-beside-a-batch"
  | "decided-behind-an-admit"
  | "kill-between-yes-and-answer"
  | "strict-processes-compete";

/** What each mark stands for. */
export const ADMIT_MARKS: Readonly<Record<AdmitMark, string>> = {
  "admit-of-several": "one call carried several requests, and the origin counted some of them and not all",
  "admit-refused": "the origin counted none of a call's requests",
  "admit-reply-lost": "the origin counted a call whose answer did not arrive in time, and all of it was allowed",
  "admit-executed-late": "the origin executed a call that had been given up before",
  "admit-repeated": "the origin executed a call a second time, or after a replay had overtaken it, and did nothing",
  "admit-outlasted-its-window":
    "the window ended while a call was under way, and its cost was counted in the previous cell",
  "admit-beside-a-batch": "a batch was counted while a call of its key was under way",
  "decided-behind-an-admit": "a request waited for a call of its key, and memory allowed it with what that brought",
  "kill-between-yes-and-answer": "a process was killed after the origin had counted a call and before it answered",
  "strict-processes-compete":
    "two processes of a region were admitted costs of one cell within a second, both after a denial",
};

/** Two that are admitted within this time compete. */
const COMPETE_MS = 1_000;

type Admitted = Extract<WorldEvent, { kind: "admitted" }>;

export class AdmitMarks {
  readonly counts: Record<AdmitMark, number> = Object.fromEntries(
    Object.keys(ADMIT_MARKS).map((mark) => [mark, 0]),
  ) as Record<AdmitMark, number>;
  #isOn = false;
  /** Lives and keys that have denied, and who was last admitted by cell of those. */
  readonly #denied = new Set<string>();
  readonly #admitted = new Map<string, { readonly life: string; readonly atMs: number }>();

  check({ atMs, process, event }: HistoryLine, truth: Truth): void {
    if (event.kind === "setup") this.#isOn = event.options.hasOrigin && (event.options.admits ?? "none") !== "none";
    else if (!this.#isOn) return;
    else if (event.kind === "admitted") this.#executed(atMs, event, truth);
    else if (event.kind === "decision") this.#decision(process, event, truth);
    else if (event.kind === "killed" && isWaiting(process, truth)) this.counts["kill-between-yes-and-answer"]++;
  }

  #executed(atMs: number, event: Admitted, truth: Truth): void {
    const { life, call, key, sequence, region, cost, refused, requests, isRepeated } = event;
    if (isRepeated) this.counts["admit-repeated"]++;
    if (cost > 0 && refused > 0) this.counts["admit-of-several"]++;
    if (refused === requests) this.counts["admit-refused"]++;
    if (truth.call(life, call)?.ended != null) this.counts["admit-executed-late"]++;
    if (cost === 0 || !this.#denied.has(`${life} ${key}`)) return;
    const cell = `${region} ${sequence} ${key}`;
    const last = this.#admitted.get(cell);
    this.#admitted.set(cell, { life, atMs });
    if (last !== undefined && last.life !== life && atMs - last.atMs <= COMPETE_MS)
      this.counts["strict-processes-compete"]++;
  }

  #decision(process: string, event: DecisionEvent, truth: Truth): void {
    const { key, sequence, cost, reason, source, degraded, batch, isCounted, arrivedMs, monoMs } = event;
    if (reason === "limit") this.#denied.add(`${process} ${key}`);
    if (!isCounted || cost === 0) return;
    const call = truth.call(process, event.call);
    if (call !== undefined && degraded && call.admitted > 0) this.counts["admit-reply-lost"]++;
    if (call !== undefined && isOfOtherWindow(event)) this.counts["admit-outlasted-its-window"]++;
    if (call !== undefined) return;
    if (batch !== 0 && truth.cell(key, sequence).pendingOf(process) > 0) this.counts["admit-beside-a-batch"]++;
    if (batch === 0 && source === "origin" && !degraded && arrivedMs < monoMs) this.counts["decided-behind-an-admit"]++;
  }
}

function isWaiting(process: string, truth: Truth): boolean {
  for (const { cell } of truth.cells()) if (cell.pendingOf(process) > 0) return true;
  return false;
}
