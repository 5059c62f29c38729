/**
 * What goes wrong in a world, and when: a schedule drawn from the seed, and a counter for every kind.
 *
 * A fault that lasts has a beginning and an end in the history. All of them are over when the safety phase is: `healAll`.
 */
import { FAULT_KINDS, type FaultKind, MESSAGE_FAULTS, type MessageFault } from "../model/fault-kinds.ts";
import type { SeededRandom } from "../model/seeded-random.ts";
import type { Storm } from "./network.ts";
import type { Life } from "./process.ts";
import type { SimOrigin } from "./sim-origin.ts";
import { type Hand, strikeClock, strikeGlobal, strikeOrigin, strikeProcess, type Targets } from "./strikes.ts";

export type FaultCounts = Record<FaultKind, number>;

export function noFaults(): FaultCounts {
  return Object.fromEntries(FAULT_KINDS.map((kind) => [kind, 0])) as FaultCounts;
}

/** How long a lasting fault lasts, as a multiple of the mean time between two faults: some overlap. */
const LASTS = 2;
/** Scripted faults: a flush this often, and an origin away for half of each such time. */
const FLUSHED_EVERY_MS = 20_000;
const AWAY_EVERY_MS = 4_000;
/** A storm lasts so many times longer than other faults. */
const STORM_LASTS = 3;
/** Links cut by one fault, at the most. */
const CUTS_MAX = 4;

type Undo = () => void;

export class Faults implements Hand {
  readonly counts: FaultCounts = noFaults();
  readonly targets: Targets;
  readonly #random: SeededRandom;
  readonly #lasting = new Set<Undo>();
  isOn = true;
  /** Numbers cuts; `#healed` is the latest one healed: a lower one after it was healed out of order. */
  #cuts = 0;
  #healed = 0;

  constructor(targets: Targets) {
    this.targets = targets;
    this.#random = targets.random;
    const { counters } = targets;
    if (counters !== undefined) counters.onDeadlock = () => this.count("global-deadlock");
  }

  count(fault: FaultKind): void {
    this.counts[fault]++;
  }

  /** A life that begins while clocks may be wrong: its own is, for a while. */
  skewAtBirth(life: Life): void {
    const { faults, skewMaxMs } = this.targets.options;
    if (!this.isOn || !faults.includes("clock-skewed") || !this.#random.chance(0.3)) return;
    this.count("clock-skewed");
    const byMs = this.#random.between(-skewMaxMs, skewMaxMs);
    life.clock.jump(byMs);
    this.lasts("clock-skewed", life.region, () => life.clock.correct(), this.lastsMs() * 4);
  }

  begin(): void {
    const { options, queue } = this.targets;
    this.#beginScript();
    if (options.faults.length === 0) return;
    // Message faults share storms: one entry for all of them, as likely as all others together.
    const storms = options.faults.filter(isMessageFault);
    const others = options.faults.filter((fault) => !isMessageFault(fault));
    const menu: (FaultKind | "storm")[] =
      storms.length === 0 ? others : [...others, ...Array(Math.max(1, others.length)).fill("storm")];
    const next = () => {
      queue.after(this.#random.wait(options.faultEveryMs), () => {
        if (!this.isOn) return;
        const fault = this.#random.pick(menu);
        if (fault === "storm") this.#storm(storms);
        else this.#strike(fault);
        next();
      });
    };
    next();
  }

  #beginScript(): void {
    const { options, queue, origins } = this.targets;
    if (options.script === "none") return;
    const isFlush = options.script === "origin-flushed-every-20-s";
    const next = () => {
      queue.after(isFlush ? FLUSHED_EVERY_MS : AWAY_EVERY_MS, () => {
        if (!this.isOn) return;
        for (const origin of origins) {
          if (isFlush) {
            this.count("origin-restarted-empty");
            this.momentary("origin-restarted-empty", origin.region, () => origin.restartEmpty());
          } else {
            this.#failOrigin(origin, AWAY_EVERY_MS / 2);
          }
        }
        next();
      });
    };
    next();
  }

  #failOrigin(origin: SimOrigin, lastsMs: number): void {
    this.count("origin-errors");
    origin.isFailing = true;
    this.lasts(
      "origin-errors",
      origin.region,
      () => {
        origin.isFailing = false;
      },
      lastsMs,
    );
  }

  /** Ends every fault that lasts; none begins any more. */
  healAll(): void {
    this.isOn = false;
    for (const undo of [...this.#lasting]) undo();
  }

  #strike(fault: FaultKind): void {
    if (fault.startsWith("origin")) strikeOrigin(this, fault);
    else if (fault.startsWith("global")) strikeGlobal(this, fault);
    else if (fault.startsWith("process")) strikeProcess(this, fault);
    else if (fault.startsWith("clock")) strikeClock(this, fault);
    else this.#cut(fault);
  }

  /** Weather over the links of one region, or all. */
  #storm(kinds: readonly MessageFault[]): void {
    const region = this.#random.chance(0.5) ? undefined : this.#random.pick(this.targets.lives);
    const links = (region ?? this.targets.lives.flat()).flatMap((life) => life?.links ?? []);
    const chosen = kinds.filter(() => this.#random.chance(0.7));
    const storm: Storm = {};
    for (const kind of chosen.length === 0 ? kinds : chosen) storm[kind] = this.#random.pick([0.2, 0.5, 0.8]);
    for (const link of links) link.storm = storm;
    const first = chosen[0] ?? kinds[0]!;
    const end = () => {
      for (const link of links) if (link.storm === storm) link.storm = undefined;
    };
    this.lasts(first, region === undefined ? "" : (links[0]?.region ?? ""), end, this.lastsMs() * STORM_LASTS);
  }

  #cut(fault: FaultKind): void {
    const links = this.targets.lives.flat().flatMap((life) => life?.links ?? []);
    const chosen = Array.from({ length: this.#random.between(1, CUTS_MAX) }, () => this.#random.pick(links));
    for (const link of new Set(chosen)) {
      if (link === undefined) continue;
      const isOneWay = fault === "link-cut-one-way";
      const isThere = !isOneWay || this.#random.chance(0.5);
      const isBack = !isOneWay || !isThere;
      const number = ++this.#cuts;
      this.count(isOneWay ? fault : "link-cut");
      if (isThere) link.cutsThere++;
      if (isBack) link.cutsBack++;
      this.lasts(isOneWay ? fault : "link-cut", link.region, () => {
        if (isThere) link.cutsThere--;
        if (isBack) link.cutsBack--;
        if (number < this.#healed) this.count("links-healed-out-of-order");
        this.#healed = Math.max(this.#healed, number);
      });
    }
  }

  lastsMs(): number {
    return this.#random.wait(this.targets.options.faultEveryMs * LASTS);
  }

  momentary(fault: FaultKind, target: string, strike: () => void): void {
    this.#emit(fault, target, true);
    strike();
    this.#emit(fault, target, false);
  }

  lasts(fault: FaultKind, target: string, end: Undo, lastsMs: number = this.lastsMs()): void {
    this.#emit(fault, target, true);
    const undo = () => {
      if (!this.#lasting.delete(undo)) return;
      end();
      this.#emit(fault, target, false);
    };
    this.#lasting.add(undo);
    this.targets.queue.after(lastsMs, undo);
  }

  #emit(fault: FaultKind, target: string, isOn: boolean): void {
    const { history, queue } = this.targets;
    history.record(queue.nowMs, "world", { kind: "fault", fault, target, isOn });
  }
}

function isMessageFault(fault: FaultKind): fault is MessageFault {
  return (MESSAGE_FAULTS as readonly FaultKind[]).includes(fault);
}
