/**
 * A process of the world: one life after another of a limiter, with its own clocks, timers and links.
 *
 * A life can be killed (its timers never fire again, its calls never settle), stopped (it closes first), and frozen: all
 * that would reach it waits, while time goes on. Each life has a name of its own in the history, and the limiter in it
 * draws an incarnation of its own.
 */
import type { Random } from "../core/clock.ts";
import type { TraceEvent } from "../core/trace.ts";
import { Limiter } from "../limiter/limiter.ts";
import type { LimiterOptions } from "../limiter/options.ts";
import type { EventQueue } from "./event-queue.ts";
import type { History } from "./history.ts";
import type { Caller, Link } from "./network.ts";
import { SimClock } from "./sim-clock.ts";

export interface LifeOptions {
  readonly name: string;
  readonly region: string;
  readonly queue: EventQueue;
  readonly history: History;
  readonly random: Random;
  readonly links: readonly Link[];
}

interface Timer {
  callback: (() => void) | undefined;
}

export class Life implements Caller {
  readonly name: string;
  readonly region: string;
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

  constructor({ name, region, queue, history, random, links }: LifeOptions) {
    this.name = name;
    this.region = region;
    this.links = links;
    this.#queue = queue;
    this.#history = history;
    this.#random = random;
    this.clock = new SimClock(queue, random.uint32() / 2 ** 10);
  }

  get limiter(): Limiter {
    return this.#limiter as Limiter;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  begin(options: Omit<LimiterOptions, "clock" | "timers" | "random" | "trace">): void {
    this.#history.record(this.#queue.nowMs, this.name, { kind: "begun", region: this.region });
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
    this.#tellGauges();
    this.state = "dead";
    this.#history.record(this.#queue.nowMs, this.name, { kind: "killed" });
  }

  /** Closes the limiter; `onStopped` comes when it is done. */
  stop(onStopped: () => void): void {
    this.state = "stopping";
    const ended = (lost: number) => {
      if (this.state === "dead") return;
      this.#look();
      this.#tellGauges();
      this.state = "dead";
      this.#history.record(this.#queue.nowMs, this.name, { kind: "stopped", lost, wallMs: this.clock.wallMs() });
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
    if (event.kind === "decision") this.#tellAlarms();
    this.#history.record(this.#queue.nowMs, this.name, event);
  }

  /** Has the limiter look at its clock, and tells what it forgot since anybody asked it last. */
  wake(): void {
    this.deliver(() => this.#look());
  }

  #look(): void {
    this.limiter.inspect({ namespace: "clock", identifier: "clock", duration: 1_000 });
    this.#tellAlarms();
  }

  #tellAlarms(): void {
    const { cells, clock } = this.limiter.stats();
    if (cells.evicted === this.#evicted && clock.followed === this.#followed) return;
    this.#evicted = cells.evicted;
    this.#followed = clock.followed;
    const event = { kind: "alarm", evicted: cells.evicted, followed: clock.followed } as const;
    this.#history.record(this.#queue.nowMs, this.name, event);
  }

  #tellGauges(): void {
    const { decisions, cells } = this.limiter.stats();
    this.#history.record(this.#queue.nowMs, this.name, {
      kind: "gauges",
      allowed: decisions.allowed,
      deniedLimit: decisions.denied.limit,
      deniedCost: decisions.denied.cost,
      cellsLive: cells.live,
      cellsMax: cells.max,
      waiting: this.waiting,
    });
  }
}
