/**
 * Entries of the audit trail that were deleted before `audit.keep`, because a workspace reached `audit.max`: counted, and logged.
 *
 * Bounded: one line per minute for all workspaces, which names the workspace that lost entries last. A hostile workspace
 * causes several deletions per second.
 */
import type { Clock } from "sluice";
import type { Log } from "../log/log.ts";

const REPEAT_MS = 60_000;

export class AuditDrops {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #onDrop: (entries: number) => void;
  /** Since the last line. */
  #entries = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(log: Log, clock: Clock, onDrop: (entries: number) => void) {
    this.#log = log;
    this.#clock = clock;
    this.#onDrop = onDrop;
  }

  note(workspaceId: string, entries: number): void {
    this.#onDrop(entries);
    this.#entries += entries;
    const nowMs = this.#clock.monoMs();
    if (nowMs - this.#loggedAtMs < REPEAT_MS) return;
    this.#log.warn("audit.dropped", { workspace: workspaceId, entries: this.#entries });
    this.#entries = 0;
    this.#loggedAtMs = nowMs;
  }
}
