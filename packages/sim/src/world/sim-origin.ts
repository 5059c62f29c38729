/**
 * The simulated origin of one region: a store that can stall, forget, go back and refuse.
 *
 * What it executes is exactly what the port says; its faults are set from outside (faults.ts) and each tells the history
 * what the store holds afterwards. `connect` gives the origin as one process sees it, over the network.
 */
import type { Admit, Admitted, Origin, OriginCount, Raise, Read } from "sluice";
import type { History } from "../model/history.ts";
import type { Admits } from "../model/options.ts";
import type { SeededRandom } from "../model/seeded-random.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Caller, Link, Network, Server } from "./network.ts";

interface Cell {
  readonly key: string;
  readonly sequence: number;
  readonly components: Map<string, number>;
  sum: number;
  expiresAtMs: number;
}

/** What a store is asked to do. */
export interface StoreLoad {
  calls: number;
  commands: number;
}

const IS_KEY = /^\d/;

/** Calls between two looks for expired cells. */
const SWEEP_EVERY = 512;

export class SimOrigin implements Server {
  stalledUntilMs = 0;
  slowMs = 0;
  /** Written by faults.ts. */
  isRefusingWrites = false;
  isFailing = false;
  /** What processes sent: calls, each a round trip, and the commands in them, one a cell. */
  readonly sent: StoreLoad = { calls: 0, commands: 0 };
  readonly name: string;
  readonly region: string;
  readonly #queue: EventQueue;
  readonly #history: History;
  #cells = new Map<string, Cell>();
  #calls = 0;
  /** Times it was replaced by another server, and times it forgot something. */
  #life = 0;
  #losses = 0;

  constructor(region: string, queue: EventQueue, history: History) {
    this.name = `origin/${region}`;
    this.region = region;
    this.#queue = queue;
    this.#history = history;
  }

  connect(caller: Caller, link: Link, network: Network, admits: Admits): Origin {
    const call = <T>(commands: number, execute: () => T, again: () => unknown = execute): Promise<T> => {
      this.sent.calls++;
      this.sent.commands += commands;
      return network.call(caller, link, this, execute, again);
    };
    const plain: Origin = {
      raise: (raises) => call(raises.length, () => this.#raise(raises)),
      read: (reads) => call(reads.length, () => this.#read(reads)),
      close: async () => {},
    };
    if (admits === "none") return plain;
    const admit = (all: readonly Admit[]) => {
      const execute = () => this.#admitAll(all, caller.name);
      const losses = this.#losses;
      // No transport repeats a call that was answered. A copy that does not outlive what it was sent to is as good as that.
      const again = () => (losses === this.#losses ? execute() : undefined);
      return call(all.length, execute, again);
    };
    return admits === "life" ? { ...plain, admit, life: () => this.#life } : { ...plain, admit };
  }

  restartEmpty(): void {
    this.#life++;
    this.#replace(new Map());
  }

  loseKeys(random: SeededRandom): void {
    this.#replace(new Map([...this.#cells].filter(() => random.chance(0.5))));
  }

  snapshot(): ReadonlyMap<string, Cell> {
    return new Map([...this.#cells].map(([name, cell]) => [name, { ...cell, components: new Map(cell.components) }]));
  }

  rollBack(snapshot: ReadonlyMap<string, Cell>): void {
    this.#life++;
    this.#replace(new Map(snapshot));
  }

  #replace(cells: Map<string, Cell>): void {
    this.#cells = cells;
    this.#losses++;
    this.#history.record(this.#queue.nowMs, this.name, { kind: "wiped", region: this.region });
    for (const cell of cells.values()) {
      for (const [writer, total] of cell.components) this.#emit(cell, writer, total);
    }
  }

  #admitAll(admits: readonly Admit[], life: string): Admitted[] {
    this.#write();
    return admits.map((admit) => this.#admit(admit, life));
  }

  #write(): void {
    if (this.isFailing) throw new Error("the origin answers errors");
    if (this.isRefusingWrites) throw new Error("the origin is read-only");
    if (++this.#calls % SWEEP_EVERY === 0) this.#sweep();
  }

  /** As the port says. The event stands before what is stored: who accepted it must be known by then. */
  #admit(admit: Admit, life: string): Admitted {
    const { key, sequence, writer, total, foreign, previousForeign, leftMs, durationMs, requests, call } = admit;
    const before = { key, sequence: sequence - 1, writer, total: admit.previousTotal };
    const previous = this.#raiseIfMore({ ...before, expiresAtMs: admit.previousExpiresAtMs });
    const held = countOf(this.#live(`${sequence}/${key}`), writer);
    const asked = { limit: Math.max(...requests.map(({ limit }) => limit)), requests: requests.length };
    const told = { kind: "admitted", region: this.region, life, call, key, sequence, writer, ...asked } as const;
    if (held.component > total) {
      this.#history.record(this.#queue.nowMs, this.name, { ...told, cost: 0, refused: 0, isRepeated: true });
      return { allowed: null, current: held, previous };
    }
    const share = Number((BigInt(previous.sum + previousForeign) * BigInt(leftMs)) / BigInt(durationMs));
    const fixed = held.sum - held.component + foreign + share;
    let raised = total;
    const allowed = requests.map(({ limit, cost }) => {
      if (fixed + raised + cost > limit) return false;
      raised += cost;
      return true;
    });
    const refused = allowed.filter((isAllowed) => !isAllowed).length;
    this.#history.record(this.#queue.nowMs, this.name, { ...told, cost: raised - total, refused, isRepeated: false });
    const current = this.#raiseIfMore({ key, sequence, writer, total: raised, expiresAtMs: admit.expiresAtMs });
    return { allowed, current, previous };
  }

  /** A cell that has that much already is not made, and not kept for longer. */
  #raiseIfMore(raise: Raise): OriginCount {
    const held = countOf(this.#live(`${raise.sequence}/${raise.key}`), raise.writer);
    return raise.total > held.component ? this.#raiseOne(raise) : held;
  }

  #raise(raises: readonly Raise[]): OriginCount[] {
    this.#write();
    return raises.map((raise) => this.#raiseOne(raise));
  }

  #read(reads: readonly Read[]): OriginCount[] {
    if (this.isFailing) throw new Error("the origin answers errors");
    return reads.map(({ key, sequence, writer }) => countOf(this.#live(`${sequence}/${key}`), writer));
  }

  #raiseOne({ key, sequence, writer, total, expiresAtMs }: Raise): OriginCount {
    const name = `${sequence}/${key}`;
    let cell = this.#live(name);
    if (cell === undefined) {
      cell = { key, sequence, components: new Map(), sum: 0, expiresAtMs };
      this.#cells.set(name, cell);
    }
    cell.expiresAtMs = Math.max(cell.expiresAtMs, expiresAtMs);
    const before = cell.components.get(writer) ?? 0;
    if (total > before) {
      cell.components.set(writer, total);
      cell.sum += total - before;
      this.#emit(cell, writer, total);
    }
    return countOf(cell, writer);
  }

  /** Heartbeats are the origin layer's own affair: a key begins with its duration, they do not. */
  #emit({ key, sequence, expiresAtMs }: Cell, writer: string, total: number): void {
    if (!IS_KEY.test(key)) return;
    const event = { kind: "stored", region: this.region, key, sequence, writer, total, expiresAtMs } as const;
    this.#history.record(this.#queue.nowMs, this.name, event);
  }

  #live(name: string): Cell | undefined {
    const cell = this.#cells.get(name);
    if (cell === undefined || cell.expiresAtMs > this.#queue.nowMs) return cell;
    this.#cells.delete(name);
    return undefined;
  }

  #sweep(): void {
    for (const [name, cell] of this.#cells) if (cell.expiresAtMs <= this.#queue.nowMs) this.#cells.delete(name);
  }
}

function countOf(cell: Cell | undefined, writer: string): OriginCount {
  return { sum: cell?.sum ?? 0, component: cell?.components.get(writer) ?? 0 };
}
