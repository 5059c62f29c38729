/**
 * Brings the counts of every minute to the admin store, in the background: no request waits for it.
 *
 * Bounded: one minute is written at a time, in pieces of ROWS_PER_WRITE rows with a pause after each on a store that blocks this process
 * (change-queue.ts). A minute that ends while the one before it is still being written is dropped, and so is what a store refuses or does
 * not answer in time: the history then misses it, and `dropped` counts its rows.
 */
import { type AdminStore, AdminStoreAway } from "../admin/admin-store.ts";
import { type BySpan, SPAN_MS, USAGE_SPANS, type UsageRow } from "../admin/usage-row.ts";
import type { Log } from "../log/log.ts";
import type { Environment } from "../system/system.ts";
import type { SubjectUsage, UsageTally } from "./usage-tally.ts";

/** A write of as many takes 3 to 4 ms on SQLite, which blocks the process for that long. */
const ROWS_PER_WRITE = 198;
/** Deletions after a minute: up to 4,000 rows of each span, far more than a minute adds on most servers. */
const DELETIONS_MAX = 20;
/** Servers that share a database write at different moments of a minute. */
const SPREAD_MS = 5_000;
const MINUTE_MS = SPAN_MS.minute;

export interface UsageWriterParts {
  readonly tally: UsageTally;
  readonly store: Pick<AdminStore, "addUsage" | "deleteUsage">;
  readonly log: Log;
  readonly environment: Environment;
  /** How long rows are kept, by span, in milliseconds. */
  readonly keepMs: BySpan;
  /** Called with the number of rows that will never be written. */
  readonly onDrop: (rows: number) => void;
}

export class UsageWriter {
  readonly #parts: UsageWriterParts;
  #timer: unknown = null;
  #writing: Promise<void> | null = null;
  #isFailing = false;
  #isClosed = false;

  constructor(parts: UsageWriterParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock, timers } = this.#parts.environment;
    this.#timer = timers.set(() => this.#minuteEnded(), MINUTE_MS - (clock.wallMs() % MINUTE_MS));
  }

  /** Writes what is counted of the minute that runs. What comes later is not written. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#parts.environment.timers.clear(this.#timer);
    await this.#writing;
    await this.writeOnce(minuteOf(this.#parts.environment.clock.wallMs()));
  }

  #minuteEnded(): void {
    if (this.#isClosed) return;
    const { environment, tally } = this.#parts;
    // The nearest: a timer may be a little early, and the minute that it ends is the one before.
    const endedMs = MINUTE_MS * (Math.round(environment.clock.wallMs() / MINUTE_MS) - 1);
    if (this.#writing === null) {
      const rows = rowsOf(tally.turn(), endedMs);
      const laterMs = environment.random.uint32() % SPREAD_MS;
      this.#writing = new Promise<void>((resolve) => environment.timers.set(resolve, laterMs))
        .then(() => this.#write(rows))
        .finally(() => {
          this.#writing = null;
        });
    } else {
      this.#drop(rowsOf(tally.turn(), endedMs).length, "the minute before it is still being written");
    }
    this.start();
  }

  /** The body of the timer, without its delay. */
  async writeOnce(minuteMs: number): Promise<void> {
    await this.#write(rowsOf(this.#parts.tally.turn(), minuteMs));
  }

  async #write(rows: readonly UsageRow[]): Promise<void> {
    const { store, keepMs, environment, log } = this.#parts;
    let written = 0;
    try {
      for (; written < rows.length; written += ROWS_PER_WRITE) {
        await store.addUsage(rows.slice(written, written + ROWS_PER_WRITE));
      }
      const nowMs = environment.clock.wallMs();
      const keptFromMs = { minute: nowMs - keepMs.minute, hour: nowMs - keepMs.hour, day: nowMs - keepMs.day };
      for (let step = 0; step < DELETIONS_MAX && (await store.deleteUsage(keptFromMs)) > 0; step++);
      if (this.#isFailing) log.info("usage.written");
      this.#isFailing = false;
    } catch (error) {
      if (!(error instanceof AdminStoreAway)) log.error("usage.failed", { error: String(error) });
      this.#drop(Math.max(0, rows.length - written), (error as Error).message);
    }
  }

  /** Logged once for each outage. */
  #drop(rows: number, reason: string): void {
    if (rows === 0) return;
    this.#parts.onDrop(rows);
    if (!this.#isFailing) this.#parts.log.warn("usage.dropped", { rows, reason });
    this.#isFailing = true;
  }
}

/** A row of each span for each subject, those of a subject together. */
function rowsOf(subjects: readonly SubjectUsage[], minuteMs: number): readonly UsageRow[] {
  return subjects.flatMap((subject) =>
    USAGE_SPANS.map((span) => ({ ...subject, span, atMs: minuteMs - (minuteMs % SPAN_MS[span]) })),
  );
}

function minuteOf(ms: number): number {
  return ms - (ms % MINUTE_MS);
}
