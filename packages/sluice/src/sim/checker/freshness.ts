/**
 * Invariants 12, 13 and the first half of 19: an allow that is not degraded rests on data as young as the rules say.
 *
 * Fresh: the process heard of both cells in calls that began at most the freshness interval ago, of the current one only if
 * the window itself is older than that; or a read was made for this very request, which may take as long as the read
 * timeout (for a batch twice: a second read may follow the first).
 *
 * Strict: within one duration after the key's last denial by this process, a read (or a raise, which answers the same) of
 * the current cell that began after that denial was answered. A request that waited for a read may have been overtaken by a denial
 * meanwhile: it arrived at most the read timeout ago, and its read began after the last denial that was known then. Nothing else
 * ends strictness early: neither the next window nor an eviction.
 *
 * Degraded: only where something is wrong with the region, or was within the healing time; where a read may come too late with nothing
 * wrong; where the key lost its slot while it was read; and before the first import of a process that has just begun.
 */
import type { DecisionEvent, OriginEvent } from "../../core/trace.ts";
import { freshnessMs } from "../../origin/freshness.ts";
import type { HistoryLine } from "../history.ts";
import type { WorldOptions } from "../options.ts";
import { Disturbances } from "./disturbance.ts";
import { type Horizons, horizonsOf, mayReadLate } from "./horizons.ts";
import { type CheckerPart, type Problem, placeOf } from "./part.ts";
import type { LifeTruth, Truth } from "./truth.ts";

interface Heard {
  /** When the latest answered call of each kind began, monotonic clock. */
  readMs: number;
  anyMs: number;
}

/** Sums of floating-point clocks differ in the last places. */
const ROUNDING_MS = 0.001;

export class Freshness implements CheckerPart {
  /** Allows that waited for, or rest on, what the origin said. */
  checked = 0;
  #options: WorldOptions | undefined;
  #horizons: Horizons | undefined;
  #disturbances: Disturbances | undefined;
  readonly #heard = new Map<string, Heard>();
  /** The last denial of each key, monotonic clock. */
  readonly #deniedMs = new Map<string, number>();

  check({ atMs, process, event }: HistoryLine, truth: Truth): Problem {
    if (event.kind === "setup") {
      this.#options = event.options;
      this.#horizons = horizonsOf(event.options);
      this.#disturbances = new Disturbances(this.#horizons.healMs, event.options.regions);
    } else if (event.kind === "fault") this.#disturbances!.tell(atMs, event);
    else if (event.kind === "read" || event.kind === "raise") this.#hear(process, event);
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
    const options = this.#options!;
    if (reason === "limit") this.#deniedMs.set(`${process} ${key}`, monoMs);
    if (reason !== "allowed") return undefined;
    if (degraded)
      return this.#mayDegrade(atMs, process, event, life) ? undefined : "honesty: degraded, and nothing is wrong";
    if (!options.hasOrigin) return undefined;
    this.checked++;
    const heard = this.#heard.get(placeOf(process, key, sequence));
    return this.#strict(process, event, heard) ?? this.#fresh(process, event, heard, options.readTimeoutMs);
  }

  #mayDegrade(atMs: number, process: string, event: DecisionEvent, life: LifeTruth): boolean {
    const { region, begunAtMs, forgotAtMs } = life;
    const { key, monoMs, durationMs } = event;
    const options = this.#options!;
    const { joinMs } = this.#horizons!;
    if (this.#disturbances!.at(region).isFelt(atMs)) return true;
    // Allows in windows that regions share are degraded until the first import. A store with a fault may keep that from happening.
    const isShared = options.hasGlobal && event.durationMs >= options.globalMinDuration;
    const globally = this.#disturbances!.at("global");
    if (isShared && (atMs - begunAtMs <= joinMs || globally.isFelt(atMs))) return true;
    if (!options.hasOrigin) return false;
    // A key that lost its slot while it was read counts under another id, and the answer may not be relied on.
    const waitMaxMs = options.readTimeoutMs * (event.batch === 0 ? 1 : 2);
    // PENDING(4): under a flood of denials every read begins before the last one.
    if (monoMs - (this.#deniedMs.get(`${process} ${key}`) ?? Number.NEGATIVE_INFINITY) < durationMs) return true;
    return mayReadLate(options, event) || atMs - forgotAtMs <= waitMaxMs;
  }

  #strict(process: string, event: DecisionEvent, heard: Heard | undefined): Problem {
    const { key, monoMs, durationMs, source, batch } = event;
    const deniedMs = this.#deniedMs.get(`${process} ${key}`);
    if (deniedMs === undefined) return undefined;
    const agoMs = monoMs - deniedMs;
    // PENDING(8): strictness ends with the slot.
    if (heard === undefined) return undefined;
    const waitMaxMs = source === "origin" ? this.#options!.readTimeoutMs * (batch === 0 ? 1 : 2) : 0;
    const sinceMs = Math.min(deniedMs, monoMs - waitMaxMs) - ROUNDING_MS;
    if (agoMs >= durationMs || (heard !== undefined && heard.anyMs >= sinceMs)) return undefined;
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
