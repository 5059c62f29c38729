/**
 * The invariant "Strict, fresh", and of "Honest" what concerns `degraded`: an allow that is not degraded rests on data as young as the rules say.
 *
 * Fresh: when the request arrived, the process had heard of both cells in calls that began at most the freshness interval before, of
 * the current one only if the window itself is older than that; or a read was made for this request, which may take as long as the
 * read timeout (in a batch twice: an item may join a read that is under way, and then wait for the others').
 *
 * Strict: within one duration after the last denial by this process that was known when the request arrived, each allow waited for a
 * read, and a read (or a raise, which answers the same) of the current cell that began after that denial was answered. A denial while the
 * request waits asks for no more. Nothing ends strictness early: neither the next window, nor a sweep, an eviction, or a clock that
 * was set forward.
 *
 * A read of the window before counts for the current cell too, if it began before the window did: the cell held nothing then.
 *
 * Degraded: only where something is wrong with the region, or was within the healing time; before a breaker that was opened then has
 * closed; where a read may come too late with nothing wrong; where a request waited for other calls of its key until it ran out of time or of
 * calls (call-turns.ts); where the key lost its slot while it was read; and before the first import of a process that has just begun.
 */
import type { DecisionEvent, OriginEvent } from "sluice";
import type { HistoryLine } from "../model/history.ts";
import { freshnessMs } from "../model/internals.ts";
import type { WorldOptions } from "../model/options.ts";
import { CallTurns } from "./call-turns.ts";
import type { CallTruth } from "./calls.ts";
import { Disturbances } from "./disturbance.ts";
import { type Horizons, horizonsOf, mayReadLate, originCallMs } from "./horizons.ts";
import { type CheckerPart, type Problem, placeOf } from "./part.ts";
import type { LifeTruth, Truth } from "./truth.ts";

interface Heard {
  /** When the latest answered reads began, in order: a key is read once at a time. Monotonic clock. */
  readonly readsMs: number[];
  /** The same of the latest answered call of any kind. */
  anyMs: number;
}

/** More than a process makes of one cell while a batch waits: two timeouts of 300 ms, with an origin at least 1 ms away each way. */
const READS_MAX = 300;

/** World milliseconds that pass, at the most, while a drifting clock shows one. */
const CLOCK_FASTEST = 1.02;

/** Sums of floating-point clocks differ in the last places. */
const ROUNDING_MS = 0.001;

export class Freshness implements CheckerPart {
  /** Allows that waited for, or rest on, what the origin said. */
  checked = 0;
  #options: WorldOptions | undefined;
  #horizons: Horizons | undefined;
  #disturbances: Disturbances | undefined;
  readonly #heard = new Map<string, Heard>();
  readonly #turns = new CallTurns();
  /** When the breaker of each process closed; Infinity while it is not closed. */
  readonly #openUntilMs = new Map<string, number>();
  /** The denials by process and key, in order, monotonic clock. */
  readonly #deniedMs = new Map<string, number[]>();

  check({ atMs, process, event }: HistoryLine, truth: Truth): Problem {
    if (event.kind === "setup") {
      this.#options = event.options;
      this.#horizons = horizonsOf(event.options);
      this.#disturbances = new Disturbances(this.#horizons.healMs, event.options.regions);
    } else if (event.kind === "fault") this.#disturbances!.record(atMs, event);
    else if (event.kind === "breaker")
      this.#openUntilMs.set(process, event.state === "closed" ? atMs : Number.POSITIVE_INFINITY);
    else if (event.kind === "read" || event.kind === "raise" || event.kind === "admit") {
      this.#noteAnswer(process, event);
      this.#turns.note(process, event);
    } else if (event.kind === "decision") return this.#decision(atMs, process, event, truth);
    return undefined;
  }

  #noteAnswer(process: string, { kind, key, sequence, beganMs, isAnswered }: OriginEvent): void {
    if (!isAnswered) return;
    const place = placeOf(process, key, sequence);
    let heard = this.#heard.get(place);
    if (heard === undefined) {
      heard = { readsMs: [], anyMs: Number.NEGATIVE_INFINITY };
      this.#heard.set(place, heard);
    }
    heard.anyMs = Math.max(heard.anyMs, beganMs);
    if (kind === "raise") return;
    heard.readsMs.push(beganMs);
    if (heard.readsMs.length > READS_MAX) heard.readsMs.shift();
  }

  #decision(atMs: number, process: string, event: DecisionEvent, truth: Truth): Problem {
    const { key, sequence, monoMs, reason, degraded } = event;
    const options = this.#options!;
    // A denied peek asked for nothing, and makes no key strict.
    if (reason === "limit" && event.cost > 0) {
      const denials = this.#deniedMs.get(`${process} ${key}`) ?? [];
      this.#deniedMs.set(`${process} ${key}`, denials);
      denials.push(monoMs);
    }
    if (reason !== "allowed") return undefined;
    const call = truth.call(process, event.call);
    if (degraded) {
      const mayDegrade = call?.isRepeated === true || this.#mayDegrade(atMs, process, event, truth.life(process));
      return mayDegrade ? undefined : "honesty: degraded, and nothing is wrong";
    }
    if (!options.hasOrigin) return undefined;
    this.checked++;
    if (call !== undefined) return this.#admitted(process, event, call);
    const heard = this.#heard.get(placeOf(process, key, sequence)) ?? NOTHING;
    const previous = this.#heard.get(placeOf(process, key, sequence - 1)) ?? NOTHING;
    const readMs = Math.max(lastOf(heard.readsMs), readBefore(event, previous));
    return (
      this.#strict(process, event, Math.max(heard.anyMs, readMs)) ??
      fresh(event, heard.anyMs, previous.anyMs, readMs, options.readTimeoutMs)
    );
  }

  /** The origin counted it itself: nothing is fresher. A strict key asks for a call that was sent for this request. */
  #admitted(process: string, event: DecisionEvent, { ended }: CallTruth): Problem {
    const sentMs = ended?.beganMs ?? Number.NEGATIVE_INFINITY;
    if (sentMs >= event.arrivedMs - ROUNDING_MS || this.#strictSince(process, event) === undefined) return undefined;
    return `strict: admitted by a call that was sent ${event.arrivedMs - sentMs} ms before the request arrived`;
  }

  #mayDegrade(atMs: number, process: string, event: DecisionEvent, life: LifeTruth): boolean {
    const { region, begunAtMs, forgotAtMs } = life;
    const { key, arrivedMs, durationMs } = event;
    const options = this.#options!;
    const { joinMs } = this.#horizons!;
    if (this.#disturbances!.at(region).isFelt(atMs)) return true;
    // One call at a time probes an origin that has failed: without requests it stays unknown whether the outage is over.
    const openUntilMs = this.#openUntilMs.get(process) ?? Number.NEGATIVE_INFINITY;
    if (atMs - openUntilMs <= options.readTimeoutMs) return true;
    // Allows in windows that regions share are degraded until the first import. A store with a fault may keep that from happening.
    const isShared = options.hasGlobal && event.durationMs >= options.globalMinDuration;
    const globally = this.#disturbances!.at("global");
    // A call that was sent before it stays degraded.
    const arrivedAtMs = atMs - (event.monoMs - arrivedMs) * CLOCK_FASTEST;
    if (isShared && (arrivedAtMs - begunAtMs <= joinMs || globally.isFelt(atMs))) return true;
    if (!options.hasOrigin) return false;
    const { readTimeoutMs: timeoutMs } = options;
    if (this.#turns.mayBeSpent(process, event, { callMs: originCallMs(options), timeoutMs })) return true;
    // A key that lost its slot while it was read counts under another id, and the answer may not be relied on.
    const waitMaxMs = timeoutMs * (event.batch === 0 ? 1 : 2);
    const deniedMs = this.#deniedMs.get(`${process} ${key}`)?.at(-1) ?? Number.NEGATIVE_INFINITY;
    return mayReadLate(options, event, arrivedMs - deniedMs < durationMs) || atMs - forgotAtMs <= waitMaxMs;
  }

  /** `heardMs`: when the last call about the current cell began. */
  #strict(process: string, event: DecisionEvent, heardMs: number): Problem {
    const { monoMs, durationMs, source, batch, cost } = event;
    const deniedMs = this.#strictSince(process, event);
    if (deniedMs === undefined) return undefined;
    if ((this.#options!.admits ?? "none") !== "none" && batch === 0 && cost > 0) {
      // A request that waited is decided by memory if the key is no longer strict by then.
      if (monoMs - deniedMs >= durationMs - ROUNDING_MS) return undefined;
      return `strict: allowed without a call ${monoMs - deniedMs} ms after a denial`;
    }
    if (source !== "origin") return `strict: allowed from memory ${monoMs - deniedMs} ms after a denial`;
    if (heardMs >= deniedMs - ROUNDING_MS) return undefined;
    return `strict: allowed ${monoMs - deniedMs} ms after a denial, the last call began ${monoMs - heardMs} ms ago`;
  }

  /** The last denial that makes the request's key strict, of those known when it arrived. */
  #strictSince(process: string, { key, arrivedMs, durationMs }: DecisionEvent): number | undefined {
    // A denial at the very moment of the arrival may have come after it.
    const deniedMs = this.#deniedMs.get(`${process} ${key}`)?.findLast((atMs) => atMs < arrivedMs);
    if (deniedMs === undefined || arrivedMs - deniedMs >= durationMs - ROUNDING_MS) return undefined;
    return deniedMs;
  }
}

const NOTHING: Heard = { readsMs: [], anyMs: Number.NEGATIVE_INFINITY };

function lastOf(readsMs: readonly number[]): number {
  return readsMs.at(-1) ?? Number.NEGATIVE_INFINITY;
}

/**
 * When the last read of the window before began that this request may have waited for: one that began before the window of the decision
 * did. There may be later ones. After a read, a batch goes on waiting for its other items, and the clock may jump.
 */
function readBefore({ source, monoMs, wallMs, sequence, durationMs }: DecisionEvent, previous: Heard): number {
  if (source !== "origin") return Number.NEGATIVE_INFINITY;
  const windowBeganMs = monoMs - (wallMs - sequence * durationMs);
  return previous.readsMs.findLast((readMs) => readMs <= windowBeganMs + ROUNDING_MS) ?? Number.NEGATIVE_INFINITY;
}

/** When the last calls about the current and the previous cell began, and the last read that counts for the current one. */
function fresh(event: DecisionEvent, heardMs: number, previousMs: number, readMs: number, timeoutMs: number): Problem {
  const { sequence, monoMs, wallMs, arrivedMs, durationMs, source, batch } = event;
  const freshMs = freshnessMs(durationMs) + ROUNDING_MS;
  const wallArrivedMs = wallMs - (monoMs - arrivedMs);
  const isYoung = wallArrivedMs - sequence * durationMs < freshMs;
  const isCurrentFresh = isYoung || arrivedMs - heardMs <= freshMs;
  if (isCurrentFresh && arrivedMs - previousMs <= freshMs) return undefined;
  const waitMaxMs = timeoutMs * (batch === 0 ? 1 : 2);
  if (source === "origin" && monoMs - readMs <= freshMs + waitMaxMs) return undefined;
  return `fresh: allowed from ${source}, last heard of the cell ${monoMs - heardMs} ms ago of ${freshMs}`;
}
