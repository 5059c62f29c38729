/**
 * When a region was disturbed: from the first fault that touched it until things have had time to heal after the last.
 *
 * Faults less than a healing time apart are one disturbance. What it knows is when each began and ended, and whether
 * something may have been forgotten in it.
 */
import { type FaultKind, LOSES_DATA } from "../model/fault-kinds.ts";

interface Stretch {
  readonly beganMs: number;
  endedMs: number;
  hasLoss: boolean;
}

export class Disturbance {
  readonly #healMs: number;
  readonly #stretches: Stretch[] = [];
  #active = 0;

  constructor(healMs: number) {
    this.#healMs = healMs;
  }

  /** A fault begins or ends. */
  record(atMs: number, fault: FaultKind, isOn: boolean): void {
    let last = this.#stretches.at(-1);
    if (isOn) {
      if (last === undefined || (this.#active === 0 && atMs - last.endedMs > this.#healMs)) {
        last = { beganMs: atMs, endedMs: atMs, hasLoss: false };
        this.#stretches.push(last);
      }
      this.#active++;
      last.hasLoss ||= LOSES_DATA.has(fault);
    } else {
      this.#active--;
    }
    if (last !== undefined) last.endedMs = this.#active > 0 ? Number.POSITIVE_INFINITY : atMs;
  }

  /** Whether something is wrong at this moment, or was within the healing time. */
  isFelt(atMs: number): boolean {
    const last = this.#stretches.at(-1);
    return last !== undefined && atMs - last.endedMs <= this.#healMs;
  }

  /** Whether something was forgotten in a disturbance that is not over, or was within the healing time. */
  isLossFelt(atMs: number): boolean {
    return this.isFelt(atMs) && this.#stretches.at(-1)?.hasLoss === true;
  }

  /**
   * What was accepted before `sinceMs` is heard in calm. If it was not calm then, what may be unheard reaches back to
   * before the disturbance, by `horizonMs`; and to the beginning of time if something was forgotten in it.
   */
  unheardSince(sinceMs: number, horizonMs: number): number {
    let reachMs = sinceMs;
    for (let i = this.#stretches.length - 1; i >= 0; i--) {
      const { beganMs, endedMs, hasLoss } = this.#stretches[i]!;
      if (endedMs + this.#healMs < reachMs) break;
      if (hasLoss) return Number.NEGATIVE_INFINITY;
      reachMs = Math.min(reachMs, beganMs - horizonMs);
    }
    return reachMs;
  }
}

/** The disturbances of all places of a world: its regions, and "global" for the store that they share. */
export class Disturbances {
  readonly #healMs: number;
  readonly #regions: number;
  readonly #places = new Map<string, Disturbance>();

  constructor(healMs: number, regions: number) {
    this.#healMs = healMs;
    this.#regions = regions;
  }

  /** A fault begins or ends; one without a target is over every region. */
  record(atMs: number, { fault, target, isOn }: { fault: FaultKind; target: string; isOn: boolean }): void {
    const everywhere = Array.from({ length: this.#regions }, (_, i) => `r${i}`);
    for (const place of target === "" ? everywhere : [target]) this.at(place).record(atMs, fault, isOn);
  }

  at(place: string): Disturbance {
    let found = this.#places.get(place);
    if (found === undefined) {
      found = new Disturbance(this.#healMs);
      this.#places.set(place, found);
    }
    return found;
  }
}
