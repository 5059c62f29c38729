/**
 * The global layer: publish, import, the denial channel and the cleanup around one store, each on its own rhythm.
 *
 * Nothing here is ever waited for by a request. A round that fails is given up; the next one does its work. Rhythms are
 * jittered by a tenth, so that processes started together do not come together for ever.
 *
 * A process that starts joins first: it registers, then reads everything that the other regions have published, and retries until it
 * has succeeded once. Until then it knows nothing of them, `isImported` is false, and its decisions say so (limiter/stack.ts).
 *
 * Nothing is written or read under a region's name before the name is registered with its origin: counts belong to an origin, and
 * rows of another name of the same origin must not be added to them (region-names.ts). As long as the origin has never answered, its
 * identity is unknown, and the process neither publishes nor imports.
 */
import type { Clock, Random, Timers } from "../core/clock.ts";
import { type Pending, withDeadline } from "../core/deadline.ts";
import { hold, letGo } from "../core/holders.ts";
import { Alarm, Repeat } from "../core/repeat.ts";
import type { Trace } from "../core/trace.ts";
import type { Engine } from "../engine/engine.ts";
import type { Ledger } from "../engine/ledger.ts";
import { BoundedCounters } from "./bounded-counters.ts";
import type { Counters, CountersHealth } from "./counters.ts";
import { DenialChannel } from "./denial-channel.ts";
import { type Floor, NO_FLOOR, publishFloor } from "./floor.ts";
import { Import } from "./import.ts";
import { Publish } from "./publish.ts";
import { RowBudget, type RowCaps } from "./row-budget.ts";

/** How regions tell each other: by counts (the default), by denials alone, or both. */
export type GlobalMode = "counters" | "denials" | "both";

export interface GlobalOptions extends RowCaps {
  readonly region: string;
  readonly mode: GlobalMode;
  readonly publishMs: number;
  readonly importMs: number;
  readonly durationMinMs: number;
  /** A fixed floor, or null: by the number of live regions and the error budget. */
  readonly floor: number | null;
  readonly errorBudget: number;
  /** The identity of the origin that the region shares; null while the origin does not answer. */
  readonly originId: () => Promise<string | null>;
  /** Whether the origin held nothing when this process first asked. */
  readonly wasOriginEmpty: () => boolean;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly trace: Trace | null;
}

const DENIALS_WRITE_MS = 1_000;
const DENIALS_IMPORT_MS = 10_000;
const REGISTER_MS = 10_000;
/** A process whose last registration is older than this registers again before it publishes: names are told apart by time. */
const REGISTERED_MS = 3 * REGISTER_MS;
const CLEANUP_MS = 60_000;
const CLEANUP_ROWS_MAX = 1_000;
/** A cleanup takes no longer than this; the next one goes on. */
const CLEANUP_MAX_MS = 10_000;
const JITTER = 0.1;
/** A join that failed is tried again after 50 ms, then after twice as long each time, up to an import interval. */
const JOIN_AGAIN_MS = 50;
/** How long the store has to let go of its connections. */
const LET_GO_MS = 1_000;

/** One kind of round with its rhythm. */
interface Round {
  readonly run: () => Promise<void>;
  /** Reads what the join reads: not before the join is done, because two reads at once would share one cursor. */
  readonly isAfterJoin: boolean;
  readonly repeat: Repeat;
  isUnderWay: boolean;
}

export class GlobalLayer {
  readonly publish: Publish;
  readonly import: Import;
  readonly denials: DenialChannel;
  /** Rows of this region in the store, by workspace and namespace: of counts, and of denials. */
  readonly budgets: { readonly counts: RowBudget; readonly denials: RowBudget };
  readonly #counters: Counters;
  readonly #bounded: BoundedCounters;
  readonly #options: GlobalOptions;
  readonly #rounds: Round[] = [];
  /** Callers of `imported` that wait; calling one settles it. */
  readonly #waiting: Pending = new Set();
  readonly #joinAlarm: Alarm;
  #isRunning = false;
  #isImported = false;
  /** Called once, after the first import. Set by the stack. */
  onImported: () => void = () => {};
  /** Rounds that failed, of any kind. */
  failed = 0;
  /** Other region names of this origin whose rows may still be alive, and what is wrong with the names now: see `Registration`. */
  aliases: readonly string[] = [];
  /**
   * Cells of which the region had published a count, while its origin held nothing when this process started. What the region's other
   * processes accept now hides behind that row until it exceeds it (docs/decisions/0020). Written by the first import.
   */
  cellsBehind = 0;
  conflict: string | null = null;
  /** The identity of the origin, once it has answered. */
  #origin: string | null = null;
  #registrations = 0;
  /** Monotonic clock. */
  #registeredMs = Number.NEGATIVE_INFINITY;

  constructor(engine: Engine, ledger: Ledger, counters: Counters, options: GlobalOptions) {
    this.#counters = counters;
    hold(counters);
    this.#options = options;
    const bounded = new BoundedCounters(counters, options.timers);
    this.#bounded = bounded;
    const registered = counters.register === undefined ? bounded : this.#registeredFirst(bounded);
    const counts = new RowBudget(options);
    this.budgets = { counts, denials: new RowBudget(options) };
    this.publish = new Publish(engine.table, ledger, registered, { ...options, budget: counts });
    this.import = new Import(engine, ledger, bounded, { ...options, budget: counts });
    this.denials = new DenialChannel(engine, ledger, registered, { ...options, budget: this.budgets.denials });
    const { mode, publishMs, importMs, clock, timers } = options;
    this.#joinAlarm = new Alarm(timers);
    const add = (everyMs: number, run: () => Promise<void>, isAfterJoin = false): Round => {
      const repeat = new Repeat(
        timers,
        () => this.#runNow(round),
        () => this.#jittered(everyMs),
      );
      const round: Round = { run, isAfterJoin, repeat, isUnderWay: false };
      this.#rounds.push(round);
      return round;
    };
    if (mode !== "denials") {
      add(publishMs, () => this.publish.publishOnce(this.#floorNow));
      add(importMs, () => this.import.importOnce(), true);
    }
    if (mode !== "counters") {
      const write = add(DENIALS_WRITE_MS, () => this.denials.writeOnce());
      this.denials.onFull = () => this.#runNow(write);
      add(DENIALS_IMPORT_MS, () => this.denials.importOnce(), true);
    }
    add(CLEANUP_MS, () => this.#cleanUp(clock));
    if (counters.register !== undefined) add(REGISTER_MS, () => this.#register());
  }

  /** The part of a limit up to which counts are not published now. */
  get floor(): number {
    const { floor, errorBudget } = this.#options;
    return floor ?? publishFloor(this.import.regionsLive, errorBudget);
  }

  /** Whether everything that the other regions had published was read once since the start. Never goes back to false. */
  get isImported(): boolean {
    return this.#isImported;
  }

  /** The shortest window that takes part: shorter ones lack nothing before the first import. */
  get durationMinMs(): number {
    const { mode, durationMinMs } = this.#options;
    if (mode === "counters") return durationMinMs;
    return mode === "denials" ? this.denials.durationMinMs : Math.min(durationMinMs, this.denials.durationMinMs);
  }

  get #floorNow(): Floor {
    return { part: this.floor, regionsLive: this.import.regionsLive };
  }

  get mode(): GlobalMode {
    return this.#options.mode;
  }

  /** Since the other regions last got to know all that they should of this one; before the first time, since the start. */
  get publishAgeMs(): number {
    return this.mode === "denials" ? this.denials.upToDateAgeMs : this.publish.ageMs;
  }

  /** Since the other regions' rows were last read; before the first time, since the start. */
  get importAgeMs(): number {
    return this.mode === "denials" ? this.denials.readAgeMs : this.import.ageMs;
  }

  /** How often they are read. */
  get importEveryMs(): number {
    return this.mode === "denials" ? DENIALS_IMPORT_MS : this.#options.importMs;
  }

  /** How long some part of the layer has not worked. If the denial channel has nothing to write, its reads show whether the store works. */
  get silentMs(): number {
    const { mode, publish, import: imports, denials } = this;
    const counts = mode === "denials" ? 0 : Math.max(publish.ageMs, imports.ageMs);
    return mode === "counters" ? counts : Math.max(counts, denials.readAgeMs);
  }

  /** What the store counted, if it is somewhere else. */
  get health(): CountersHealth | null {
    return this.#counters.health?.() ?? null;
  }

  start(): void {
    this.#isRunning = true;
    for (const { repeat } of this.#rounds) repeat.start();
    void this.#join(JOIN_AGAIN_MS);
  }

  stop(): void {
    this.#isRunning = false;
    for (const { repeat } of this.#rounds) repeat.stop();
    this.#joinAlarm.clear();
    for (const settle of this.#waiting) settle();
  }

  /**
   * Resolves after the first import, after `timeoutMs`, or when the layer stops, with `isImported`. Keeps the process alive until
   * then: nothing else may, and a program that awaits this at its top level would end in mid-start.
   */
  async imported(timeoutMs: number): Promise<boolean> {
    const { timers } = this.#options;
    if (this.#isImported || !this.#isRunning) return this.#isImported;
    const never = () => new Promise<never>(() => {});
    await withDeadline(never, timeoutMs, timers, this.#waiting, true);
    return this.#isImported;
  }

  /**
   * Stops, and publishes what is left, again and again while the store fails and there is time. Resolves with the accepted cost
   * that the store should have and did not confirm.
   *
   * @param isKept whether the origin keeps this region's counts when this process has ended. If not, the global store is the only
   * place for them, and they are published regardless of the floor.
   */
  async close(deadlineMs: number, isKept: boolean): Promise<number> {
    this.stop();
    this.#bounded.giveUp();
    const { timers, clock, mode } = this.#options;
    const endMs = clock.monoMs() + deadlineMs;
    const lastWrites = async () => {
      const publishing =
        mode === "denials" ? null : this.publish.publishUntil(isKept ? this.#floorNow : NO_FLOOR, endMs);
      await Promise.allSettled([publishing, mode === "counters" ? null : this.denials.writeOnce()]);
    };
    await withDeadline(lastWrites, deadlineMs, timers);
    this.publish.stop();
    await this.#bounded.close();
    const lost = isKept || mode === "denials" ? 0 : await this.publish.unstored();
    for (const expire of this.denials.pending) expire();
    if (letGo(this.#counters)) await withDeadline(() => this.#counters.close(), LET_GO_MS, timers);
    return lost;
  }

  /** Joins the other regions, and retries until it has succeeded once. Failures are counted and never rejected. */
  async #join(againMs: number): Promise<void> {
    const { importMs } = this.#options;
    try {
      await this.#joinOnce();
    } catch {
      this.failed++;
      if (!this.#isRunning) return;
      const nextMs = Math.min(2 * againMs, importMs);
      this.#joinAlarm.set(() => void this.#join(nextMs), this.#jittered(againMs));
      return;
    }
    if (!this.#isRunning) return;
    this.#isImported = true;
    this.onImported();
    for (const settle of this.#waiting) settle();
  }

  /** Registers, then reads everything: a region is known under its name before it takes rows for those of others. */
  async #joinOnce(): Promise<void> {
    const { mode, wasOriginEmpty } = this.#options;
    await this.#register();
    if (mode !== "denials") await this.import.importOnce(Number.POSITIVE_INFINITY);
    if (wasOriginEmpty()) this.cellsBehind = this.import.ownRows;
    if (mode !== "counters") await this.denials.importOnce(Number.POSITIVE_INFINITY);
  }

  /** Registers the region's name with its origin. Rejects if the store fails, or if the origin has never answered. */
  async #register(): Promise<void> {
    if (this.#counters.register === undefined) return;
    const { region, originId, clock } = this.#options;
    // An origin that is away now keeps its identity. While this closes, the origin is closed already.
    if (this.#isRunning || this.#origin === null) this.#origin = (await originId()) ?? this.#origin;
    if (this.#origin === null) throw new Error("the identity of the origin is not known yet");
    const { aliases, conflict } = await this.#bounded.register(region, this.#origin);
    this.#registrations++;
    this.#registeredMs = clock.monoMs();
    this.aliases = aliases;
    this.conflict = conflict;
  }

  /**
   * The same counters, but a process registers before it publishes if its last registration is old, and before its first publish once more:
   * two processes that found an empty origin at the same time may each have registered an identity of their own, and by then
   * they agree on one.
   */
  #registeredFirst(counters: BoundedCounters): Counters {
    const { clock } = this.#options;
    const isDue = () => this.#registrations < 2 || clock.monoMs() - this.#registeredMs >= REGISTERED_MS;
    return {
      ...counters,
      publish: async (region, rows) => {
        if (isDue()) await this.#register();
        await counters.publish(region, rows);
      },
      denials: {
        ...counters.denials,
        write: async (region, rows) => {
          if (this.#registrations === 0) await this.#register();
          await counters.denials.write(region, rows);
        },
      },
      close: () => counters.close(),
    };
  }

  /** Batch after batch until nothing is left: at most what a round has time for. */
  async #cleanUp(clock: Clock): Promise<void> {
    const endMs = clock.monoMs() + CLEANUP_MAX_MS;
    let deleted = CLEANUP_ROWS_MAX;
    while (deleted >= CLEANUP_ROWS_MAX && this.#isRunning && clock.monoMs() < endMs) {
      deleted = await this.#bounded.cleanUp(clock.wallMs(), CLEANUP_ROWS_MAX);
    }
  }

  #jittered(ms: number): number {
    return ms * (1 - JITTER + (2 * JITTER * this.#options.random.uint32()) / 2 ** 32);
  }

  #runNow(round: Round): void {
    if (round.isAfterJoin && !this.#isImported) return;
    if (this.#isRunning && !round.isUnderWay) void this.#run(round);
  }

  async #run(round: Round): Promise<void> {
    round.isUnderWay = true;
    try {
      await round.run();
    } catch {
      this.failed++;
    }
    round.isUnderWay = false;
  }
}
