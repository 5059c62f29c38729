/**
 * Invariants 12, 13 and the first half of 19: an allow that is not degraded rests on data as young as the rules say.
 *
 * Fresh: the process heard of both cells in calls that began at most the freshness interval ago, of the current one only if
 * the window itself is older than that; or a read was made for this very request, which may take as long as the read
 * timeout (for a batch twice: a second read may follow the first).
 *
 * Strict: within one duration after the key's last denial by this process, a read (or a raise, which answers the same) of
 * the current cell that began after that denial was answered. Two windows on, by the process's own clock, the denied cell matters no more, and the key may
 * have been forgotten with its deadline (a clock that jumped forward gets there early); so may any key after an alarm.
 */
import type { DecisionEvent, OriginEvent } from "../../core/trace.ts";
import { freshnessMs } from "../../origin/freshness.ts";
import type { HistoryLine } from "../history.ts";
import type { WorldOptions } from "../options.ts";
import { horizonsOf, mayReadLate } from "./horizons.ts";
import { type CheckerPart, type Problem, placeOf } from "./part.ts";
import type { LifeTruth, Truth } from "./truth.ts";

interface Heard {
  /** When the latest answered call of each kind began, monotonic clock. */
  readMs: number;
  anyMs: number;
}

interface Denial {
  readonly monoMs: number;
  readonly sequence: number;
  /** The alarms of the process at that moment. */
  readonly alarms: number;
}

/** Sums of floating-point clocks differ in the last places. */
const ROUNDING_MS = 0.001;

export class Freshness implements CheckerPart {
  /** Allows that waited for, or rest on, what the origin said. */
  checked = 0;
  #options: WorldOptions | undefined;
  #joinMs = 0;
  readonly #heard = new Map<string, Heard>();
  readonly #deniedMs = new Map<string, number>();
  readonly #denials = new Map<string, Denial>();

  check({ atMs, process, event }: HistoryLine, truth: Truth): Problem {
    if (event.kind === "setup") {
      this.#options = event.options;
      this.#joinMs = horizonsOf(event.options).joinMs;
    } else if (event.kind === "read" || event.kind === "raise") this.#hear(process, event);
    else if (event.kind === "decision") return this.#decision(atMs, process, event, truth.life(process));
    return undefined;
  }

  #hear(process: string, { kind, key, sequence, beganMs, isAnswered }: OriginEvent): void {
    if (!isAnswered) return;
    const place = placeOf(process, key, sequence);
    let heard = this.#heard.get(place);
    if (heard === undefined) {
      heard = { readMs: Number.NEGATIVE_INFINITY, anyMs: Number.NEGATIVE_INFINITY };
      this.#heard.set(place, heard);
    }
    heard.anyMs = Math.max(heard.anyMs, beganMs);
    if (kind === "read") heard.readMs = Math.max(heard.readMs, beganMs);
  }

  #decision(atMs: number, process: string, event: DecisionEvent, life: LifeTruth): Problem {
    const { key, sequence, monoMs, reason, degraded } = event;
    const { evicted, followed } = life;
    const options = this.#options!;
    const isJoining = options.hasGlobal && atMs - life.begunAtMs <= this.#joinMs && isShared(event, options);
    if (!options.hasOrigin) {
      const mayDegrade = isJoining || !isCalm(options);
      return degraded && reason === "allowed" && !mayDegrade ? "honesty: degraded, and nothing is wrong" : undefined;
    }
    if (reason === "limit") this.#deniedMs.set(`${process} ${key}`, monoMs);
    // A key without a slot has nowhere to keep a deadline: it is cold, and read in any case.
    if (reason === "limit" && event.own + event.others + event.foreign > 0) {
      this.#denials.set(`${process} ${key}`, { monoMs, sequence, alarms: evicted + followed });
    }
    if (degraded && reason === "allowed" && !isJoining && !this.#mayDegrade(process, event, options)) {
      return "honesty: degraded, and nothing is wrong";
    }
    if (reason !== "allowed" || degraded) return undefined;
    this.checked++;
    const heard = this.#heard.get(placeOf(process, key, sequence));
    return (
      this.#strict(process, event, heard, evicted + followed) ??
      this.#fresh(process, event, heard, options.readTimeoutMs)
    );
  }

  /**
   * Something is wrong, or the origin far away; or a key that lost its slot while it was read has another id meanwhile, and the
   * answer may not be relied on; or it was denied again whenever it was read.
   */
  #mayDegrade(process: string, event: DecisionEvent, options: WorldOptions): boolean {
    const { key, monoMs, durationMs } = event;
    if (!isCalm(options) || options.cellsMax < options.keys.length) return true;
    if (mayReadLate(options, event)) return true;
    return monoMs - (this.#deniedMs.get(`${process} ${key}`) ?? Number.NEGATIVE_INFINITY) < durationMs;
  }

  #strict(process: string, event: DecisionEvent, heard: Heard | undefined, alarms: number): Problem {
    const { key, sequence, monoMs, durationMs } = event;
    const denial = this.#denials.get(`${process} ${key}`);
    if (denial === undefined || sequence >= denial.sequence + 2 || alarms !== denial.alarms) return undefined;
    const agoMs = monoMs - denial.monoMs;
    if (agoMs >= durationMs || (heard !== undefined && heard.anyMs >= denial.monoMs - ROUNDING_MS)) return undefined;
    return `strict: allowed ${agoMs} ms after a denial, the last call began ${monoMs - (heard?.anyMs ?? Number.NaN)} ms ago`;
  }

  #fresh(process: string, event: DecisionEvent, heard: Heard | undefined, timeoutMs: number): Problem {
    const { key, sequence, monoMs, wallMs, durationMs, source, batch } = event;
    const freshMs = freshnessMs(durationMs) + ROUNDING_MS;
    const previous = this.#heard.get(placeOf(process, key, sequence - 1));
    const isYoung = wallMs - sequence * durationMs < freshMs;
    const isCurrentFresh = isYoung || (heard !== undefined && monoMs - heard.anyMs <= freshMs);
    if (isCurrentFresh && previous !== undefined && monoMs - previous.anyMs <= freshMs) return undefined;
    const waitMaxMs = timeoutMs * (batch === 0 ? 1 : 2);
    if (source === "origin" && heard !== undefined && monoMs - heard.readMs <= freshMs + waitMaxMs) return undefined;
    return `fresh: allowed from ${source}, last heard of the cell ${monoMs - (heard?.anyMs ?? Number.NaN)} ms ago of ${freshMs}`;
  }
}

function isCalm({ faults, script }: WorldOptions): boolean {
  return faults.length === 0 && script === "none";
}

/** Whether other regions take part in the window. */
function isShared({ durationMs }: DecisionEvent, { globalMinDuration }: WorldOptions): boolean {
  return durationMs >= globalMinDuration;
}
