/**
 * A process of the world: one life after another of a limiter, with its own clocks, timers and links.
 *
 * A life can be killed (its timers never fire again, its calls never settle), stopped (it closes first), and frozen: all
 * that would reach it waits, while time goes on. Each life has a name of its own in the history, and the limiter in it
 * draws an incarnation of its own.
 */
import { Limiter, type LimiterOptions, type Random, type TraceEvent } from "sluice";
import type { History } from "../model/history.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Caller, Link } from "./network.ts";
import { SimClock } from "./sim-clock.ts";

export interface LifeOptions {
  readonly name: string;
  /** Names the origin that it shares with others. */
  readonly region: string;
  /** The name under which it publishes. */
  readonly regionName: string;
  readonly queue: EventQueue;
  readonly history: History;
  readonly random: Random;
  readonly links: readonly Link[];
}

/** Decisions between two looks at what the limiter counts of itself. */
const GAUGES_EVERY = 32;

interface Timer {
  callback: (() => void) | undefined;
}

export class Life implements Caller {
  readonly name: string;
  readonly region: string;
  readonly regionName: string;
  readonly clock: SimClock;
  readonly links: readonly Link[];
  /** `stopping` takes no more requests, but still runs. */
  state: "running" | "stopping" | "dead" = "running";
  /** Callers who wait for an answer. */
  waiting = 0;
  readonly #queue: EventQueue;
  readonly #history: History;
  readonly #random: Random;
  #limiter: Limiter | undefined;
  #isFrozen = false;
  readonly #backlog: (() => void)[] = [];
  #evicted = 0;
  #followed = 0;
  #held = 0;
  #leadMs = 0;
  #breaker: "closed" | "open" | "probing" = "closed";
  #decisions = 0;

  constructor({ name, region, regionName, queue, history, random, links }: LifeOptions) {
    this.name = name;
    this.region = region;
    this.regionName = regionName;
    this.links = links;
    this.#queue = queue;
    this.#history = history;
    this.#random = random;
    this.clock = new SimClock(queue, random.uint32() / 2 ** 10);
  }

  get limiter(): Limiter {
    return this.#limiter as Limiter;
  }

  /** Messages it has sent. */
  get messages(): number {
    return this.links.reduce((sum, { messages }) => sum + messages, 0);
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  begin(options: Omit<LimiterOptions, "clock" | "timers" | "random" | "trace">): void {
    const { region, regionName, clock } = this;
    this.#history.record(this.#queue.nowMs, this.name, { kind: "begun", region, name: regionName });
    clock.onChange = () => this.#emitClock();
    if (!clock.isRight) this.#emitClock();
    this.#limiter = new Limiter({
      ...options,
      clock: this.clock,
      random: this.#random,
      timers: {
        set: (callback, delayMs) => this.#setTimer(callback, delayMs),
        clear: (handle) => {
          (handle as Timer).callback = undefined;
        },
      },
      trace: (event) => this.#trace(event),
    });
    // It imports at its start: without this, the call would be sent with the next event of any process.
    this.#queue.touched();
  }

  /** Runs something inside this life: now, when it thaws, or never. */
  deliver(run: () => void): void {
    if (this.state === "dead") return;
    if (this.#isFrozen) {
      this.#backlog.push(run);
      return;
    }
    this.#queue.touched();
    run();
  }

  kill(): void {
    if (this.state === "dead") return;
    this.#emitGauges();
    this.state = "dead";
    this.#history.record(this.#queue.nowMs, this.name, { kind: "killed" });
  }

  /** Closes the limiter; `onStopped` comes when it is done. */
  stop(onStopped: () => void): void {
    this.state = "stopping";
    const unreplayed = this.limiter.stats().origin?.unreplayed ?? 0;
    this.#history.record(this.#queue.nowMs, this.name, { kind: "stopping", unreplayed });
    const ended = (lost: number) => {
      if (this.state === "dead") return;
      // A held clock may be ahead of all that the wall clock has shown.
      const latestMs = Math.max(this.clock.latestMs, this.#look());
      this.#emitGauges();
      this.state = "dead";
      const { waiting } = this;
      this.#history.record(this.#queue.nowMs, this.name, { kind: "stopped", lost, latestMs, waiting });
      onStopped();
    };
    this.deliver(() => {
      this.limiter.close().then(
        ({ lost }) => ended(lost),
        (error: unknown) => {
          throw new Error("close rejected", { cause: error });
        },
      );
    });
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  /** Everything that came meanwhile arrives now, each thing as an event of its own. */
  thaw(): void {
    this.#isFrozen = false;
    for (const run of this.#backlog.splice(0)) this.#queue.after(0, () => this.deliver(run));
  }

  #setTimer(callback: () => void, delayMs: number): Timer {
    const timer: Timer = { callback };
    const fire = () => {
      const run = timer.callback;
      timer.callback = undefined;
      run?.();
    };
    this.#queue.after(this.clock.worldMs(delayMs), () => {
      if (timer.callback !== undefined) this.deliver(fire);
    });
    return timer;
  }

  #trace(event: TraceEvent): void {
    if (this.state === "dead") return;
    if (event.kind === "decision") this.#emitAlarms(event.wallMs);
    if (event.kind === "raise" || event.kind === "read" || event.kind === "admit") this.#emitBreaker();
    this.#history.record(this.#queue.nowMs, this.name, event);
    // Items of a batch stand together.
    if (event.kind === "decision" && event.batch === 0 && ++this.#decisions % GAUGES_EVERY === 0) this.#emitGauges();
  }

  /** Has the limiter look at its clock, and tells what it forgot since anybody asked it last. */
  wake(): void {
    this.deliver(() => this.#look());
  }

  #look(): number {
    const { current, leftMs } = this.limiter.inspect({ namespace: "clock", identifier: "clock", duration: 1_000 });
    const nowMs = current.endMs - leftMs;
    this.#emitAlarms(nowMs);
    return nowMs;
  }

  #emitBreaker(state: "closed" | "open" | "probing" = this.limiter.stats().origin?.breaker ?? "closed"): void {
    if (state === this.#breaker) return;
    this.#breaker = state;
    this.#history.record(this.#queue.nowMs, this.name, { kind: "breaker", state });
  }

  #emitClock(): void {
    if (this.state === "dead") return;
    const event = { kind: "clock", wallMs: this.clock.wallMs(), rate: this.clock.rate } as const;
    this.#history.record(this.#queue.nowMs, this.name, event);
  }

  /** `nowMs`: the time that the limiter goes by, which may be ahead of its wall clock. */
  #emitAlarms(nowMs: number): void {
    const { cells, clock, origin } = this.limiter.stats();
    this.#emitBreaker(origin?.breaker);
    this.#emitHeld(clock.held, nowMs - Math.floor(this.clock.wallMs()));
    if (cells.evicted === this.#evicted && clock.followed === this.#followed) return;
    this.#evicted = cells.evicted;
    this.#followed = clock.followed;
    const event = { kind: "alarm", evicted: cells.evicted, followed: clock.followed } as const;
    this.#history.record(this.#queue.nowMs, this.name, event);
  }

  #emitHeld(held: number, leadMs: number): void {
    if (held === this.#held && leadMs === this.#leadMs) return;
    this.#held = held;
    this.#leadMs = leadMs;
    this.#history.record(this.#queue.nowMs, this.name, { kind: "held", held, leadMs });
  }

  #emitGauges(): void {
    const { decisions, cells, origin, global } = this.limiter.stats();
    this.#history.record(this.#queue.nowMs, this.name, {
      kind: "gauges",
      allowed: decisions.allowed,
      deniedLimit: decisions.denied.limit,
      deniedCost: decisions.denied.cost,
      deniedFull: decisions.denied.full,
      deniedBatch: decisions.denied.batch,
      unrecorded: decisions.unrecorded,
      degraded: decisions.degraded,
      cellsLive: cells.live,
      cellsMax: cells.max,
      nameBytes: cells.nameBytes,
      unreplayed: origin?.unreplayed ?? 0,
      unpublished: global?.unpublished ?? 0,
      readsInFlight: origin?.readsInFlight ?? 0,
      admitsInFlight: origin?.admitsInFlight ?? 0,
      originCalls: (origin?.reads ?? 0) + (origin?.raises ?? 0) + (origin?.admits ?? 0),
      originMessages: origin === null ? 0 : this.links[0]!.messages,
      rowsPublished: global?.rowsPublished ?? 0,
      cellsImported: global?.cellsImported ?? 0,
      denialsEmitted: global?.denials.emitted ?? 0,
      denialsInflated: global?.denials.inflated ?? 0,
    });
  }
}
