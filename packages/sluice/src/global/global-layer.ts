/**
 * The global layer: publish, import, the denial channel and the cleanup around one store, each on its own rhythm.
 *
 * Nothing here is ever waited for by a request. A round that fails is given up; the next one does its work. Rhythms are
 * jittered by a tenth, so that processes started together do not come together for ever.
 */
import type { Clock, Random, Timers } from "../core/clock.ts";
import { withDeadline } from "../core/deadline.ts";
import { hold, letGo } from "../core/holders.ts";
import type { Trace } from "../core/trace.ts";
import type { Engine } from "../engine/engine.ts";
import type { Ledger } from "../engine/ledger.ts";
import { BoundedCounters } from "./bounded-counters.ts";
import type { Counters, CountersHealth } from "./counters.ts";
import { DenialChannel } from "./denial-channel.ts";
import { publishFloor } from "./floor.ts";
import { Import } from "./import.ts";
import { Publish } from "./publish.ts";

/** How regions tell each other: by counts (the default), by denials alone, or both. */
export type GlobalMode = "counters" | "denials" | "both";

export interface GlobalOptions {
  readonly region: string;
  readonly mode: GlobalMode;
  readonly publishMs: number;
  readonly importMs: number;
  readonly durationMinMs: number;
  /** A fixed floor, or null: by the number of live regions and the error budget. */
  readonly floor: number | null;
  readonly errorBudget: number;
  /** Which origin the region shares; null while it cannot be asked. */
  readonly originId: () => Promise<string | null>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly trace: Trace | null;
}

const DENIALS_WRITE_MS = 1_000;
const DENIALS_IMPORT_MS = 10_000;
const REGISTER_MS = 10_000;
const CLEANUP_MS = 60_000;
const CLEANUP_ROWS_MAX = 1_000;
/** A cleanup takes no longer than this; the next one goes on. */
const CLEANUP_MAX_MS = 10_000;
const JITTER = 0.1;
/** How long the store has to let go of its connections. */
const LET_GO_MS = 1_000;

/** One kind of round with its rhythm. */
interface Round {
  readonly run: () => Promise<void>;
  readonly everyMs: number;
  handle: unknown;
  isUnderWay: boolean;
}

export class GlobalLayer {
  readonly publish: Publish;
  readonly import: Import;
  readonly denials: DenialChannel;
  readonly #counters: Counters;
  readonly #bounded: BoundedCounters;
  readonly #options: GlobalOptions;
  readonly #rounds: Round[] = [];
  #isRunning = false;
  /** Rounds that failed, of any kind. */
  failed = 0;

  constructor(engine: Engine, ledger: Ledger, counters: Counters, options: GlobalOptions) {
    this.#counters = counters;
    hold(counters);
    this.#options = options;
    const bounded = new BoundedCounters(counters, options.timers);
    this.#bounded = bounded;
    this.publish = new Publish(engine.table, ledger, bounded, options);
    this.import = new Import(engine, ledger, bounded, options);
    this.denials = new DenialChannel(engine, ledger, bounded, options);
    const { mode, publishMs, importMs, clock } = options;
    const add = (everyMs: number, run: () => Promise<void>): Round => {
      const round = { run, everyMs, handle: undefined, isUnderWay: false };
      this.#rounds.push(round);
      return round;
    };
    if (mode !== "denials") {
      add(publishMs, () => this.publish.publishOnce(this.floor));
      add(importMs, () => this.import.importOnce());
    }
    if (mode !== "counters") {
      const write = add(DENIALS_WRITE_MS, () => this.denials.writeOnce());
      this.denials.onFull = () => this.#runNow(write);
      add(DENIALS_IMPORT_MS, () => this.denials.importOnce());
    }
    add(CLEANUP_MS, () => this.#cleanUp(clock));
    if (counters.register !== undefined) add(REGISTER_MS, () => this.#register());
  }

  /** The part of a limit below which counts are not published now. */
  get floor(): number {
    const { floor, errorBudget } = this.#options;
    return floor ?? publishFloor(this.import.regionsLive, errorBudget);
  }

  /** What the store counted, if it is somewhere else. */
  get health(): CountersHealth | null {
    return this.#counters.health?.() ?? null;
  }

  start(): void {
    this.#isRunning = true;
    for (const round of this.#rounds) this.#arm(round);
  }

  stop(): void {
    this.#isRunning = false;
    for (const round of this.#rounds) this.#options.timers.clear(round.handle);
  }

  /** Stops, and tells the other regions what is left to tell, if the store takes it. */
  async close(deadlineMs: number): Promise<void> {
    this.stop();
    this.#bounded.giveUp();
    const { timers, mode } = this.#options;
    const lastWords = async () => {
      if (mode !== "denials") await this.publish.publishOnce(this.floor).catch(() => undefined);
      if (mode !== "counters") await this.denials.writeOnce();
    };
    await withDeadline(lastWords, deadlineMs, timers);
    await this.#bounded.close();
    for (const expire of this.denials.pending) expire();
    if (letGo(this.#counters)) await withDeadline(() => this.#counters.close(), LET_GO_MS, timers);
  }

  async #register(): Promise<void> {
    const { region, originId } = this.#options;
    const origin = await originId();
    if (origin !== null) await this.#bounded.register(region, origin);
  }

  /** Batch after batch until nothing is left: at most what a round has time for. */
  async #cleanUp(clock: Clock): Promise<void> {
    const endMs = clock.monoMs() + CLEANUP_MAX_MS;
    let deleted = CLEANUP_ROWS_MAX;
    while (deleted >= CLEANUP_ROWS_MAX && this.#isRunning && clock.monoMs() < endMs) {
      deleted = await this.#bounded.cleanUp(clock.wallMs(), CLEANUP_ROWS_MAX);
    }
  }

  #arm(round: Round): void {
    const { timers, random } = this.#options;
    const jitter = 1 - JITTER + (2 * JITTER * random.uint32()) / 2 ** 32;
    round.handle = timers.set(() => {
      this.#arm(round);
      this.#runNow(round);
    }, round.everyMs * jitter);
  }

  #runNow(round: Round): void {
    if (this.#isRunning && !round.isUnderWay) void this.#run(round);
  }

  async #run(round: Round): Promise<void> {
    round.isUnderWay = true;
    await round.run().catch(() => {
      this.failed++;
    });
    round.isUnderWay = false;
  }
}
