/** How each lasting or sudden fault is done to its target. When, and how often, is the schedule's affair (faults.ts). */

import type { FaultKind } from "../model/fault-kinds.ts";
import type { History } from "../model/history.ts";
import type { WorldOptions } from "../model/options.ts";
import type { SeededRandom } from "../model/seeded-random.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Life } from "./process.ts";
import type { SimCounters } from "./sim-counters.ts";
import type { SimOrigin } from "./sim-origin.ts";

/** What faults can be done to. */
export interface Targets {
  readonly options: WorldOptions;
  readonly queue: EventQueue;
  readonly history: History;
  readonly random: SeededRandom;
  readonly origins: readonly SimOrigin[];
  readonly counters: SimCounters | undefined;
  readonly lives: readonly (readonly (Life | undefined)[])[];
  /** Begins a new life in the place of one that ended. */
  readonly restart: (region: number, index: number) => void;
}

/** What a strike needs of the schedule. */
export interface Hand {
  readonly targets: Targets;
  readonly isOn: boolean;
  count(fault: FaultKind): void;
  lastsMs(): number;
  /** Tells the beginning; `end` comes after a while, or when all is healed. */
  lasts(fault: FaultKind, target: string, end: () => void, lastsMs?: number): void;
  momentary(fault: FaultKind, target: string, strike: () => void): void;
}

/** A process that died comes back after this time, on average. */
const RESTART_MS = 1_000;

export function strikeOrigin(hand: Hand, fault: FaultKind): void {
  const origin = hand.targets.random.pick(hand.targets.origins);
  if (origin === undefined) return;
  hand.count(fault);
  const { region } = origin;
  const { queue } = hand.targets;
  if (fault === "origin-stalled") {
    const lastsMs = hand.lastsMs();
    origin.stalledUntilMs = queue.nowMs + lastsMs;
    hand.lasts(
      fault,
      region,
      () => {
        origin.stalledUntilMs = 0;
      },
      lastsMs,
    );
  } else if (fault === "origin-refused-writes") {
    origin.isRefusingWrites = true;
    hand.lasts(fault, region, () => {
      origin.isRefusingWrites = false;
    });
  } else if (fault === "origin-errors") {
    origin.isFailing = true;
    hand.lasts(fault, region, () => {
      origin.isFailing = false;
    });
  } else if (fault === "origin-rolled-back") {
    const snapshot = origin.snapshot();
    queue.after(hand.lastsMs(), () => {
      if (hand.isOn) hand.momentary(fault, region, () => origin.rollBack(snapshot));
    });
  } else {
    hand.momentary(fault, region, () => {
      if (fault === "origin-restarted-empty") origin.restartEmpty();
      else origin.loseKeys(hand.targets.random);
    });
  }
}

export function strikeGlobal(hand: Hand, fault: FaultKind): void {
  const { counters } = hand.targets;
  if (counters === undefined) return;
  if (fault === "global-deadlock") {
    // Counted when it strikes.
    counters.deadlocks += hand.targets.random.between(1, 30);
    hand.lasts(fault, "global", () => {
      counters.deadlocks = 0;
    });
    return;
  }
  hand.count(fault);
  if (fault === "global-lost-table") {
    hand.momentary(fault, "global", () => counters.loseTable());
  } else if (fault === "global-away") {
    counters.isAway = true;
    hand.lasts(fault, "global", () => {
      counters.isAway = false;
    });
  } else if (fault === "global-slow") {
    counters.slowMs = hand.targets.random.between(50, 2_000);
    hand.lasts(fault, "global", () => {
      counters.slowMs = 0;
    });
  } else {
    counters.stickReplica();
    hand.lasts(fault, "global", () => counters.letReplicaGo());
  }
}

export function strikeProcess(hand: Hand, fault: FaultKind): void {
  const { options, lives, queue, restart } = hand.targets;
  const region = hand.targets.random.between(0, options.regions - 1);
  const index = hand.targets.random.between(0, options.processes - 1);
  const life = lives[region]?.[index];
  if (life === undefined || life.state !== "running") return;
  hand.count(fault);
  const back = () => queue.after(hand.targets.random.wait(RESTART_MS), () => restart(region, index));
  if (fault === "process-killed") {
    hand.momentary(fault, life.region, () => life.kill());
    back();
  } else if (fault === "process-stopped") {
    life.stop(back);
  } else {
    life.freeze();
    hand.lasts(fault, life.region, () => life.thaw());
  }
}

export function strikeClock(hand: Hand, fault: FaultKind): void {
  const life = hand.targets.random.pick(hand.targets.lives.flat());
  if (life === undefined || life.state === "dead") return;
  hand.count(fault);
  const { skewMaxMs } = hand.targets.options;
  const byMs = hand.targets.random.between(1, skewMaxMs);
  const isForward = fault === "clock-jumped-forward" || (fault === "clock-skewed" && hand.targets.random.chance(0.5));
  if (fault === "clock-drifting") {
    life.clock.drift(1 + (hand.targets.random.fraction() - 0.5) * 0.02);
    hand.lasts(fault, life.region, () => life.clock.correct());
    return;
  }
  life.clock.jump(isForward ? byMs : -byMs);
  hand.lasts(fault, life.region, () => life.clock.correct(), hand.lastsMs() * 4);
}
