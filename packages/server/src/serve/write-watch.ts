/**
 * Whether the admin store takes changes: reads may go on while writes fail, on a full disk for example.
 *
 * The log has a line for the first failure, for another kind of failure, and once a minute while it lasts; and one when a change was written
 * again. `/ready` gets the reason in fixed words: a driver's own may name users and hosts.
 *
 * A failure is not forgotten after a while: it stands until something was written. So that this does not have to be a client's change, the
 * owner tries a write some seconds after the last failure.
 */
import type { Clock } from "sluice";
import type { FailureKind, SqlFailure } from "../admin/sql-link.ts";
import type { Log } from "../log/log.ts";

const REPEAT_MS = 60_000;
/** How long after a failure a write is tried. */
const TRY_AGAIN_MS = 5_000;

const REASONS: Readonly<Record<FailureKind, string>> = {
  full: "the disk of the store is full: changes are refused",
  forbidden: "the store is read-only for this server: changes are refused",
  lock: "the store was locked by another process for too long: the last change was not made",
  missing: "a table of the store is missing: the last change was not made",
  away: "the last change could not be written to the store",
};

export class WriteWatch {
  readonly #log: Log;
  #kind: FailureKind | null = null;
  #failedAtMs = 0;
  #loggedAtMs = 0;
  readonly #clock: Clock;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Whether it is time to try a write. */
  get isTrialDue(): boolean {
    return this.#kind !== null && this.#clock.monoMs() - this.#failedAtMs >= TRY_AGAIN_MS;
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
    const nowMs = this.#clock.monoMs();
    this.#failedAtMs = nowMs;
    if (failure.kind === this.#kind && nowMs - this.#loggedAtMs < REPEAT_MS) return;
    this.#kind = failure.kind;
    this.#loggedAtMs = nowMs;
    this.#log.error("admin-store.unwritable", { kind: failure.kind, reason: failure.message });
  }
}
