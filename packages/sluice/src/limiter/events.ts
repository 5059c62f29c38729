/**
 * The events that a limiter reports to its operator: changes of state, and failures that it survived. For logs and alerts; the numbers
 * are in `stats()`, and single decisions in a `trace`.
 *
 * Bounded: at most five events in ten seconds per subject (a kind and its layer, or the connection to one address). Further events are
 * omitted, except the latest, which follows when the ten seconds are over: the last event of a subject is always the current state.
 *
 * An event is never delivered during another operation, but in its own turn of the event loop. Errors of a listener are ignored.
 */
import type { Clock, Timers } from "../core/clock.ts";
import { Alarm } from "../core/repeat.ts";

/** What happened. */
export type Happening =
  /**
   * A breaker opened or closed: around the origin, or around the denial channel of the global store. `probing`: one call is
   * allowed as a test (half-open); if it fails, another follows a second later.
   */
  | { readonly kind: "breaker"; readonly layer: "origin" | "denials"; readonly state: "open" | "probing" | "closed" }
  /**
   * A connection to the origin was made; or was lost, or could not be made. `down` comes once per address until it is `up` again: further
   * attempts that fail are `failures`.
   */
  | { readonly kind: "connection"; readonly layer: "origin"; readonly state: "up"; readonly address: string }
  | {
      readonly kind: "connection";
      readonly layer: "origin";
      readonly state: "down";
      readonly address: string;
      /** The kind of failure: docs/operating.md lists them. */
      readonly failure: string;
      readonly message: string;
    }
  /** Calls to a store failed: how many of each kind since the last such event, and the message of the latest failure. */
  | {
      readonly kind: "failures";
      readonly layer: "origin" | "global";
      readonly failures: Readonly<Record<string, number>>;
      readonly message: string;
    }
  /** The global store works again, after an outage of `forMs`. */
  | { readonly kind: "recovered"; readonly layer: "global"; readonly forMs: number }
  /** A store returned impossible numbers or rows, which were ignored. */
  | { readonly kind: "junk"; readonly layer: "origin" | "global"; readonly count: number }
  /** The origin has lost confirmed counts (it was restarted, flushed or restored): the counts of all keys in memory are replayed again. */
  | { readonly kind: "lost"; readonly layer: "origin"; readonly keys: number }
  /**
   * The origin was empty when this process started, although the region had published counts of so many cells: what other processes
   * of the region accept hides behind those counts until it exceeds them.
   */
  | { readonly kind: "emptied"; readonly layer: "origin"; readonly cells: number }
  /** The origin held less than it had confirmed for single cells, which are replayed again. */
  | { readonly kind: "healed"; readonly layer: "origin"; readonly cells: number }
  /** Requests are decided from memory although a read of the origin is required. */
  | { readonly kind: "degraded"; readonly state: "began" }
  | { readonly kind: "degraded"; readonly state: "ended"; readonly decisions: number; readonly forMs: number }
  /** Requests were decided without recording their cost, because the table was full. */
  | { readonly kind: "full"; readonly decisions: number }
  /**
   * New rows were not published, because their namespace or workspace has as many in the global store as `namespaceRowsMax` or
   * `workspaceRowsMax` allows: how often, and whose the last one was.
   */
  | {
      readonly kind: "rows";
      readonly layer: "global";
      readonly refused: number;
      readonly workspace: string;
      readonly namespace: string;
    }
  /** The wall clock was set back by `backMs`, and the limiter followed it. */
  | { readonly kind: "clock"; readonly backMs: number }
  /** The limiter has closed. `lost`: accepted cost that no store confirmed, see `CloseReport`. */
  | { readonly kind: "closed"; readonly lost: number };

/** An event, its wall-clock time, and how many events of the same subject were omitted before it. */
export type LimiterEvent = Happening & { readonly atMs: number; readonly omitted: number };

export type EventListener = (event: LimiterEvent) => unknown;

const SPAN_MS = 10_000;
const EVENTS_MAX = 5;

/** How many events of one subject were reported in this span, and the one that waits for the next span. */
interface Subject {
  endsMs: number;
  reported: number;
  omitted: number;
  latest: { readonly what: Happening; readonly atMs: number } | null;
}

/**
 * Probes are a subject of their own: they must not delay the news that a breaker is closed. So is each address: the nodes of a Cluster
 * must not delay each other's news.
 */
function subjectName(what: Happening): string {
  const kind = isProbe(what) ? "probe" : what.kind;
  if (what.kind === "connection") return `${kind}/${what.layer}/${what.address}`;
  return "layer" in what ? `${kind}/${what.layer}` : kind;
}

function isProbe(what: Happening): boolean {
  return what.kind === "breaker" && what.state === "probing";
}

export class EventDesk {
  readonly #listener: EventListener;
  readonly #clock: Clock;
  readonly #alarm: Alarm;
  readonly #subjects = new Map<string, Subject>();
  #outbox: LimiterEvent[] = [];

  constructor(listener: EventListener, clock: Clock, timers: Timers) {
    this.#listener = listener;
    this.#clock = clock;
    this.#alarm = new Alarm(timers);
  }

  /** Queues an event. The listener receives it in a later turn, or when the ten seconds of the subject are over. */
  report(what: Happening): void {
    const nowMs = this.#clock.monoMs();
    const subject = this.#subjectOf(what);
    if (nowMs >= subject.endsMs) {
      subject.endsMs = nowMs + SPAN_MS;
      subject.reported = 0;
    }
    // Whatever waited is older than this.
    if (subject.latest !== null) subject.omitted++;
    if (what.kind === "breaker" && !isProbe(what)) this.#dropProbe(what);
    subject.latest = { what, atMs: this.#wallMs() };
    if (subject.reported < EVENTS_MAX) this.#post(subject);
  }

  /** Reports the events whose ten seconds are over. */
  reportLatest(isAll = false): void {
    const nowMs = this.#clock.monoMs();
    for (const [name, subject] of this.#subjects) {
      if (!(isAll || nowMs >= subject.endsMs)) continue;
      if (subject.latest === null) {
        // Addresses come and go. A subject that starts again is the same, unless it owes a number.
        if (subject.omitted === 0) this.#subjects.delete(name);
        continue;
      }
      subject.endsMs = nowMs + SPAN_MS;
      subject.reported = 0;
      this.#post(subject);
    }
  }

  /** Reports all waiting events at once. */
  close(): void {
    this.reportLatest(true);
    this.#alarm.clear();
    this.#deliver();
  }

  /** A waiting probe event is obsolete once the result of the probe is known. */
  #dropProbe({ kind, layer }: Extract<Happening, { kind: "breaker" }>): void {
    const probe = this.#subjects.get(subjectName({ kind, layer, state: "probing" }));
    if (probe === undefined || probe.latest === null) return;
    probe.latest = null;
    probe.omitted++;
  }

  #subjectOf(what: Happening): Subject {
    const name = subjectName(what);
    let subject = this.#subjects.get(name);
    if (subject === undefined) {
      subject = { endsMs: Number.NEGATIVE_INFINITY, reported: 0, omitted: 0, latest: null };
      this.#subjects.set(name, subject);
    }
    return subject;
  }

  #post(subject: Subject): void {
    const { latest, omitted } = subject;
    if (latest === null) return;
    this.#outbox.push({ ...latest.what, atMs: latest.atMs, omitted });
    subject.latest = null;
    subject.omitted = 0;
    subject.reported++;
    try {
      this.#alarm.set(() => this.#deliver(), 0);
    } catch {
      // Timers that cannot be set must not fail what was being done: the next event, or the end, tries again.
    }
  }

  /** A clock that fails is reported to whoever asks for a decision; an event only lacks its time. */
  #wallMs(): number {
    try {
      return this.#clock.wallMs();
    } catch {
      return Number.NaN;
    }
  }

  #deliver(): void {
    const events = this.#outbox;
    this.#outbox = [];
    for (const event of events) {
      try {
        const answer = this.#listener(event);
        if (answer instanceof Promise) answer.catch(() => {});
      } catch {
        // Errors of a listener must not affect the limiter.
      }
    }
  }
}
