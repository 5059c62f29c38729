/**
 * Whether the admin store takes changes: reads may go on while writes fail, on a full disk for example.
 *
 * The log has a line for the first failure, for another kind of failure, and once a minute while it lasts; and one when a change was written
 * again. `/ready` gets the reason in fixed words: a driver's own may name users and hosts.
 */
import type { FailureKind, SqlFailure } from "../admin/sql-link.ts";
import type { Log } from "../log/log.ts";
import { SYSTEM } from "../system/system.ts";

const REPEAT_MS = 60_000;

const REASONS: Readonly<Record<FailureKind, string>> = {
  full: "the disk of the store is full: nothing can be changed",
  forbidden: "the store is read-only for this server: nothing can be changed",
  lock: "the store was locked by another process for too long: the last change was not made",
  missing: "a table of the store is missing: the last change was not made",
  away: "the store did not take the last change",
};

export class WriteWatch {
  readonly #log: Log;
  #kind: FailureKind | null = null;
  #loggedAtMs = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  get failure(): string | null {
    return this.#kind === null ? null : REASONS[this.#kind];
  }

  note(failure: SqlFailure | null): void {
    if (failure === null) {
      if (this.#kind !== null) this.#log.info("admin-store.writable");
      this.#kind = null;
      return;
    }
    const nowMs = SYSTEM.clock.monoMs();
    if (failure.kind === this.#kind && nowMs - this.#loggedAtMs < REPEAT_MS) return;
    this.#kind = failure.kind;
    this.#loggedAtMs = nowMs;
    this.#log.error("admin-store.unwritable", { kind: failure.kind, reason: failure.message });
  }
}
