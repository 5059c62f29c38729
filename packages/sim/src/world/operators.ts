/**
 * The operators of a world: what they do on purpose, or by mistake, while clients send requests (features.ts).
 *
 * They draw from a generator of their own. A region's origin keeps its name in the history (`r0`); what changes is the region name
 * under which its processes publish.
 */

import type { Feature, WorldOptions } from "../model/options.ts";
import type { SeededRandom } from "../model/seeded-random.ts";
import type { Clients } from "./clients.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Faults } from "./faults.ts";
import type { Life } from "./process.ts";
import type { SimOrigin } from "./sim-origin.ts";

export interface OperatorsOptions {
  readonly options: WorldOptions;
  readonly queue: EventQueue;
  readonly random: SeededRandom;
  readonly faults: Faults;
  readonly clients: Clients;
  readonly origins: readonly SimOrigin[];
  readonly lives: readonly (readonly (Life | undefined)[])[];
  /** Begins a new life in the place of one that ended. */
  readonly restart: (region: number, index: number) => void;
}

/** A process that is replaced is back after this time, on average. */
const REPLACED_MS = 300;
/** How often processes are replaced and regions restarted in a world. */
const REPLACEMENTS = 12;
const RESTARTS = 3;
/** What a process that has just begun gets, and how far apart. */
const FIRST_REQUESTS = 40;
const FIRST_EVERY_MS = 2;

export class Operators {
  readonly #world: OperatorsOptions;
  /** How often the first region was given another name. */
  #renames = 0;

  constructor(world: OperatorsOptions) {
    this.#world = world;
  }

  /** The name under which a process that begins now publishes. */
  nameOf(region: number, index: number): string {
    const name = `r${region}`;
    if (region !== 0) return name;
    if (this.#has("origin-shared") && index % 2 === 1) return `${name}-too`;
    // The second rename goes back to the first name.
    return this.#renames % 2 === 0 ? name : `${name}-new`;
  }

  /**
   * How much later than the others a process begins. An origin gets its identity from the process that first finds none; two that do so at the
   * same moment, under two names, would take it for two origins until they register again.
   */
  laterMs(region: number, index: number, withinMs: number): number {
    return this.nameOf(region, index) === `r${region}` ? 0 : 2 * withinMs;
  }

  begin(): void {
    const { options, queue, random } = this.#world;
    if (this.#has("region-renamed")) {
      const firstMs = options.safetyMs * (0.1 + 0.5 * random.fraction());
      queue.after(firstMs, () => this.#rename());
      if (random.chance(0.5)) queue.after(firstMs + options.safetyMs * 0.3, () => this.#rename());
    }
    if (this.#has("late-starts")) this.#repeat(REPLACEMENTS, () => this.#replace(this.#laterRegion(), true));
    if (this.#has("region-restarted-empty")) this.#repeat(RESTARTS, () => this.#restartEmpty());
  }

  #has(feature: Feature): boolean {
    return this.#world.options.features?.includes(feature) === true;
  }

  #repeat(times: number, act: () => void): void {
    const { options, queue, random, faults } = this.#world;
    const next = () => {
      queue.after(random.wait(options.safetyMs / times), () => {
        if (!faults.isOn) return;
        act();
        next();
      });
    };
    next();
  }

  /** A rolling restart: whoever begins from now on has the new name. */
  #rename(): void {
    const { options, faults } = this.#world;
    if (!faults.isOn) return;
    this.#renames++;
    const next = (index: number) => {
      if (index === options.processes) return;
      this.#stopAndBegin(0, index, () => next(index + 1));
    };
    next(0);
  }

  #laterRegion(): number {
    const { options, random } = this.#world;
    return random.between(Math.min(1, options.regions - 1), options.regions - 1);
  }

  /** Replaces one process of a region; the new one gets requests at once. */
  #replace(region: number, isBusy: boolean): void {
    const { options, random } = this.#world;
    const index = random.between(0, options.processes - 1);
    this.#stopAndBegin(region, index, () => {
      if (isBusy) this.#askAtOnce(region, index, FIRST_REQUESTS);
    });
  }

  #stopAndBegin(region: number, index: number, onBegun: () => void): void {
    const { lives, queue, random, restart } = this.#world;
    const life = lives[region]?.[index];
    // One that is down begins again without this.
    if (life?.state !== "running" || life.isFrozen) {
      onBegun();
      return;
    }
    life.stop(() => {
      queue.after(random.wait(REPLACED_MS), () => {
        restart(region, index);
        onBegun();
      });
    });
  }

  #askAtOnce(region: number, index: number, left: number): void {
    const { clients, queue } = this.#world;
    if (left === 0 || !clients.isAsking) return;
    clients.askProcess(region, index);
    queue.after(FIRST_EVERY_MS, () => this.#askAtOnce(region, index, left - 1));
  }

  /** A region loses all its processes and its origin at once: a power cut of one place. */
  #restartEmpty(): void {
    const { options, queue, random, faults, origins, lives, restart } = this.#world;
    const region = random.between(0, options.regions - 1);
    const origin = origins[region];
    if (origin === undefined) return;
    lives[region]!.forEach((life, index) => {
      if (life === undefined || life.state === "dead") return;
      faults.count("process-killed");
      faults.momentary("process-killed", life.region, () => life.kill());
      queue.after(random.wait(REPLACED_MS), () => restart(region, index));
    });
    faults.count("origin-restarted-empty");
    faults.momentary("origin-restarted-empty", origin.region, () => origin.restartEmpty());
  }
}
