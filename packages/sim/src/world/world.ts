/**
 * A world: regions of processes on simulated stores and networks, with clients and faults, run from a seed.
 *
 * Two phases. Safety: faults strike, and the checker looks at every event. Liveness: faults are over; clients go on until
 * everything must have healed, then stop; what has been accepted must arrive, views must agree, every caller must have
 * his answer, and every process must close with nothing lost: each within a number of virtual seconds that follows
 * from the options (checker/horizons.ts).
 *
 * Nothing here is real: no clock, no socket, no chance that does not come from the seed. Only promises are.
 */

import { Checker } from "../checker/checker.ts";
import { horizonsOf } from "../checker/horizons.ts";
import type { MarkCounts } from "../checker/marks.ts";
import { History, type HistoryEvent, type HistoryLine } from "../model/history.ts";
import { freshnessMs } from "../model/internals.ts";
import type { WorldOptions } from "../model/options.ts";
import { SeededRandom } from "../model/seeded-random.ts";
import { Clients, requestOf } from "./clients.ts";
import { drawOptions } from "./draw-options.ts";
import { EventQueue } from "./event-queue.ts";
import { type FaultCounts, Faults } from "./faults.ts";
import { type Link, Network } from "./network.ts";
import { Operators } from "./operators.ts";
import { Life } from "./process.ts";
import { SimCounters } from "./sim-counters.ts";
import { SimOrigin, type StoreLoad } from "./sim-origin.ts";

export interface WorldReport {
  readonly seed: number;
  readonly options: WorldOptions;
  /** The first invariant that did not hold; undefined if all did. */
  readonly problem: string | undefined;
  /** The last 200 lines of the history. */
  readonly lastLines: readonly string[];
  readonly faults: FaultCounts;
  /** World time that passed. */
  readonly virtualMs: number;
  readonly events: number;
  readonly lines: number;
  readonly messages: number;
  readonly decisions: number;
  readonly falseDenials: number;
  readonly viewsAbove: number;
  /** Allows over the limit in truth (all within E), and allows whose freshness was checked. */
  readonly over: number;
  readonly fresh: number;
  /** Decisions compared with the join of what was heard. */
  readonly joined: number;
  /** The largest part of E that an excess used, where E is at least 10. */
  readonly ratioMax: number;
  readonly marks: MarkCounts;
  /** Components and views compared after things settled. */
  readonly compared: number;
  /** By encoded key and sequence, what was accepted in all. */
  readonly admitted: ReadonlyMap<string, number>;
  /** The allow, not degraded, that went furthest over its limit or came nearest to it, and the E that held for it. */
  readonly worst: { readonly excess: number; readonly bound: number };
  /** What the stores were asked to do in the safety phase: all origins together, and the global counters. */
  readonly load: { readonly origin: StoreLoad; readonly global: StoreLoad };
  /** Whether it was ended from outside, by `breathe`. */
  readonly isPartial: boolean;
}

export interface RunOptions {
  /** Replace what the seed draws. */
  readonly options?: Partial<WorldOptions>;
  /** Gets every line of the history. */
  readonly sink?: (line: string) => void;
  /** Gets every line too, as it is: without the cost of making it a text. */
  readonly observe?: (line: HistoryLine) => void;
  /** Awaited every few milliseconds of real time; answers whether to go on. The one who passes it owns the real clock. */
  readonly breathe?: (atMs: number, events: number) => Promise<boolean>;
  /** Processes get this long to begin before clients ask, and the clients begin with a window of the first key. */
  readonly leadMs?: number;
  /** Once the faults are over nobody asks any more, but every process is peeked at this often: how fast do views agree? */
  readonly probeEveryMs?: number;
  /** Workspaces whose clients stay silent: all else is drawn as if they asked. */
  readonly silent?: ReadonlySet<string>;
  /** Every message takes its link's mean delay: how many there are changes nothing for the others. */
  readonly isEven?: boolean;
}

/** Some moment of 2023; a seed moves it within a window. */
const EPOCH_MS = 1_700_000_000_000;

/** Processes begin within this time. */
const BEGIN_WITHIN_MS = 1_000;

/** Runs the world of a seed to its end, or to the first problem. */
export function runWorld(seed: number, run: RunOptions = {}): Promise<WorldReport> {
  return new World(seed, { ...drawOptions(seed), ...run.options }, run).run();
}

class World {
  readonly #seed: number;
  readonly #options: WorldOptions;
  readonly #random: SeededRandom;
  readonly #checker = new Checker();
  readonly #queue: EventQueue;
  readonly #history: History;
  readonly #network: Network;
  readonly #origins: SimOrigin[] = [];
  readonly #counters: SimCounters | undefined;
  readonly #lives: (Life | undefined)[][];
  readonly #clients: Clients;
  readonly #faults: Faults;
  readonly #operators: Operators;
  readonly #run: RunOptions;
  #begun = 0;
  #isStopped = false;
  #isProbing = false;
  #isClosing = false;

  constructor(seed: number, options: WorldOptions, run: RunOptions) {
    this.#seed = seed;
    this.#options = options;
    this.#run = run;
    const random = new SeededRandom(seed);
    this.#random = random;
    const queue = new EventQueue(startOf(EPOCH_MS + random.between(0, 7_200_000), options, run));
    this.#queue = queue;
    const { sink, observe, breathe } = run;
    if (breathe !== undefined) {
      queue.breathe = async () => {
        if (!this.#isStopped) this.#isStopped = !(await breathe(queue.nowMs, queue.count));
      };
    }
    const history = new History((line) => {
      this.#checker.observe(line);
      observe?.(line);
      if (this.#checker.problem !== undefined) history.close();
    }, sink);
    this.#history = history;
    const { timeoutMs } = options;
    const onFault = (fault: Parameters<Faults["count"]>[0]) => this.#faults.count(fault);
    const { silent = new Set<string>(), isEven = false } = run;
    this.#network = new Network({ queue, random: random.fork(), timeoutMs, onFault, isEven });
    this.#emit({ kind: "setup", options });
    if (options.hasOrigin) {
      for (let i = 0; i < options.regions; i++) this.#origins.push(new SimOrigin(`r${i}`, queue, history));
    }
    this.#counters = options.hasGlobal ? new SimCounters(queue, history, random.fork()) : undefined;
    this.#lives = Array.from({ length: options.regions }, () => Array(options.processes).fill(undefined));
    const lives = this.#lives;
    const features = new SeededRandom(seed ^ 0x0bad_ca5e);
    const featureRandom = features.fork();
    this.#clients = new Clients({ options, queue, history, random: random.fork(), featureRandom, lives, silent });
    const restart = (region: number, index: number) => this.#begin(region, index);
    const stores = { origins: this.#origins, counters: this.#counters };
    this.#faults = new Faults({ options, queue, history, random: random.fork(), ...stores, lives, restart });
    const people = { faults: this.#faults, clients: this.#clients };
    const { origins } = stores;
    this.#operators = new Operators({ options, queue, random: features.fork(), ...people, origins, lives, restart });
  }

  async run(): Promise<WorldReport> {
    const startMs = this.#queue.nowMs;
    // Not all at once: rhythms that beat together would be a world of its own.
    this.#lives.forEach((region, r) => {
      region.forEach((_, i) => {
        const afterMs = this.#random.between(0, BEGIN_WITHIN_MS) + this.#operators.laterMs(r, i, BEGIN_WITHIN_MS);
        this.#queue.after(afterMs, () => this.#begin(r, i));
      });
    });
    const { leadMs, probeEveryMs } = this.#run;
    if (leadMs !== undefined) await this.#advance(leadMs);
    this.#clients.begin();
    this.#faults.begin();
    this.#operators.begin();
    const before = this.#load();
    await this.#pass("safety", this.#options.safetyMs);
    const load = difference(this.#load(), before);
    this.#faults.healAll();
    if (probeEveryMs !== undefined) this.#probe(probeEveryMs);
    await this.#heal();
    // What did not get its time to settle is not judged by how it settled.
    if (!this.#isStopped) await this.#settle();
    return this.#report(startMs, load);
  }

  #load(): WorldReport["load"] {
    const origin = { calls: 0, commands: 0 };
    for (const { sent } of this.#origins) {
      origin.calls += sent.calls;
      origin.commands += sent.commands;
    }
    return { origin, global: { ...(this.#counters?.sent ?? { calls: 0, commands: 0 }) } };
  }

  /** Nobody but the peeks asks any more. */
  #probe(everyMs: number): void {
    this.#clients.isAsking = false;
    this.#isProbing = true;
    const probeOnce = () => {
      if (!this.#isProbing) return;
      this.#peek();
      this.#queue.after(everyMs, probeOnce);
    };
    probeOnce();
  }

  /** The liveness phase. */
  async #heal(): Promise<void> {
    await this.#pass("liveness", horizonsOf(this.#options).healMs);
    this.#clients.isAsking = false;
    this.#isProbing = false;
  }

  /** What must hold at rest. */
  async #settle(): Promise<void> {
    const { healMs, regionalMs, globalMs } = horizonsOf(this.#options);
    const { readTimeoutMs, timeoutMs } = this.#options;
    await this.#pass("quiet", 2 * regionalMs + readTimeoutMs);
    for (const life of this.#running()) life.wake();
    const freshMs = Math.max(...this.#options.keys.map(({ durationMs }) => freshnessMs(durationMs)));
    await this.#pass("drained", freshMs + Math.max(regionalMs, this.#options.hasGlobal ? globalMs : 0));
    // A breaker that nobody has asked since is half open, and lets one call through: the first round closes it.
    this.#peek();
    await this.#advance(freshMs + readTimeoutMs + timeoutMs);
    this.#emit({ kind: "phase", phase: "peeking" });
    this.#peek();
    await this.#advance(readTimeoutMs + timeoutMs);
    this.#emit({ kind: "phase", phase: "closing" });
    this.#isClosing = true;
    for (const life of this.#running()) life.stop(() => {});
    await this.#advance(healMs);
    const open = this.#lives.flat().find((life) => life !== undefined && life.state !== "dead");
    if (open !== undefined && !this.#isStopped) this.#checker.problem ??= `liveness: ${open.name} did not close`;
  }

  #peek(): void {
    for (const life of this.#running()) {
      for (const key of this.#options.keys) this.#clients.askLife(life, [requestOf(key, 0)], false);
    }
  }

  #running(): Life[] {
    return this.#lives.flat().filter((life): life is Life => life?.state === "running");
  }

  async #pass(phase: "safety" | "liveness" | "quiet" | "drained", forMs: number): Promise<void> {
    this.#emit({ kind: "phase", phase });
    await this.#advance(forMs);
  }

  async #advance(forMs: number): Promise<void> {
    const isOver = () => this.#isStopped || this.#checker.problem !== undefined;
    if (!isOver()) await this.#queue.runUntil(this.#queue.nowMs + forMs, isOver);
  }

  #begin(region: number, index: number): void {
    // A process that was to be back by now comes too late to close.
    if (this.#isClosing) return;
    const options = this.#options;
    const { originDelayMs, globalDelayMs, floor } = options;
    const name = `r${region}`;
    const regionName = this.#operators.nameOf(region, index);
    const links: Link[] = [];
    const link = (delayMs: number): Link => {
      const made = { region: name, delayMs, cutsThere: 0, cutsBack: 0, storm: undefined, messages: 0 };
      links.push(made);
      return made;
    };
    const random = this.#random.fork();
    const life = new Life({
      name: `${name}p${index}.${++this.#begun}`,
      region: name,
      regionName,
      queue: this.#queue,
      history: this.#history,
      random,
      links,
    });
    const origin = this.#origins[region]?.connect(life, link(originDelayMs), this.#network, options.admits ?? "none");
    const global = this.#counters?.connect(life, link(globalDelayMs), this.#network);
    this.#lives[region]![index] = life;
    this.#faults.skewAtBirth(life);
    const { flushMs, readTimeoutMs, publishMs, importMs, globalMinDuration, globalMode, cellsMax, whenFull } = options;
    life.begin({
      cellsMax,
      whenFull,
      ...(origin === undefined ? {} : { origin, flushMs, readTimeoutMs }),
      ...(global === undefined
        ? {}
        : { global, region: regionName, globalMode, publishMs, importMs, globalDurationMin: globalMinDuration }),
      ...(global === undefined || floor === null ? {} : { floor }),
    });
  }

  #emit(event: HistoryEvent): void {
    if (this.#isStopped) return;
    this.#history.record(this.#queue.nowMs, "world", event);
  }

  #report(startMs: number, load: WorldReport["load"]): WorldReport {
    const { problem, decisions, lowerBound, excess, freshness, join, marks, settlement, truth } = this.#checker;
    const admitted = new Map<string, number>();
    for (const { key, sequence, cell } of truth.cells()) admitted.set(`${sequence}/${key}`, cell.total);
    return {
      seed: this.#seed,
      options: this.#options,
      problem,
      lastLines: problem === undefined ? [] : this.#history.last(),
      faults: this.#faults.counts,
      virtualMs: this.#queue.nowMs - startMs,
      events: this.#queue.count,
      lines: this.#history.count,
      messages: this.#network.messages,
      decisions,
      falseDenials: lowerBound.falseDenials,
      viewsAbove: lowerBound.viewsAbove,
      over: excess.over,
      fresh: freshness.checked,
      joined: join.compared,
      ratioMax: excess.ratioMax,
      marks,
      compared: settlement.compared,
      admitted,
      worst: excess.worst,
      load,
      isPartial: this.#isStopped,
    };
  }
}

/** Where time begins: at the moment the seed drew, or `leadMs` before the next window of the first key begins. */
function startOf(drawnMs: number, { keys }: WorldOptions, { leadMs }: RunOptions): number {
  const durationMs = keys[0]?.durationMs;
  if (leadMs === undefined || durationMs === undefined) return drawnMs;
  return Math.ceil((drawnMs + leadMs) / durationMs) * durationMs - leadMs;
}

function difference(after: WorldReport["load"], before: WorldReport["load"]): WorldReport["load"] {
  const minus = (a: StoreLoad, b: StoreLoad): StoreLoad => ({
    calls: a.calls - b.calls,
    commands: a.commands - b.commands,
  });
  return { origin: minus(after.origin, before.origin), global: minus(after.global, before.global) };
}
