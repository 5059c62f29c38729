/**
 * The network between processes and stores: every call is a message there, an execution and a message back.
 *
 * A message takes its link's delay, drawn anew each time. While a storm is over a link, messages are lost, delayed, repeated
 * and overtaken; while a link is cut, nothing passes in that direction. A call that got no reply within the driver's
 * timeout is rejected: what became of it is not known to the caller, as in life.
 */

import type { MessageFault } from "../model/fault-kinds.ts";
import type { SeededRandom } from "../model/seeded-random.ts";
import type { EventQueue } from "./event-queue.ts";

/** How often each fault strikes a message: probabilities. */
export type Storm = Partial<Record<MessageFault, number>>;

/** The way from one life of a process to one store. */
export interface Link {
  readonly region: string;
  /** One way, on average. */
  readonly delayMs: number;
  /** How many cuts are over each direction. Written by faults.ts. */
  cutsThere: number;
  cutsBack: number;
  storm: Storm | undefined;
  /** Messages sent over it. Written by the network. */
  messages: number;
}

/** Who calls: deliveries wait while it is frozen, and are forgotten when it is dead. */
export interface Caller {
  readonly name: string;
  deliver(run: () => void): void;
}

/** Who executes. Written by faults.ts. */
export interface Server {
  /** Nothing is executed before this world time. */
  stalledUntilMs: number;
  /** Added to every execution. */
  slowMs: number;
}

export interface NetworkOptions {
  readonly queue: EventQueue;
  readonly random: SeededRandom;
  /** What a driver waits for a reply. */
  readonly timeoutMs: number;
  readonly onFault: (fault: MessageFault) => void;
  /** Every message takes its link's mean delay. */
  readonly isEven: boolean;
}

/** How much later a delayed message comes: up to this many times the link's own delay, and at least 20 ms. */
const DELAYED_FACTOR = 50;

export class Network {
  readonly #queue: EventQueue;
  readonly #random: SeededRandom;
  readonly #timeoutMs: number;
  readonly #onFault: (fault: MessageFault) => void;
  readonly #isEven: boolean;
  messages = 0;

  constructor({ queue, random, timeoutMs, onFault, isEven }: NetworkOptions) {
    this.#queue = queue;
    this.#random = random;
    this.#timeoutMs = timeoutMs;
    this.#onFault = onFault;
    this.#isEven = isEven;
  }

  /**
   * Has `execute` run at the server; settles when the reply is back. A throw of `execute` is the server's error. `again`: what a copy
   * does that the network made.
   */
  call<T>(caller: Caller, link: Link, server: Server, execute: () => T, again: () => unknown = execute): Promise<T> {
    const queue = this.#queue;
    const deadlineMs = queue.nowMs + this.#timeoutMs;
    return new Promise((resolve, reject) => {
      const giveUp = () => caller.deliver(() => reject(new Error("no reply in time")));
      const reply = (settle: () => void) => {
        if (link.cutsBack > 0 || this.#strikes(link, "reply-lost")) return queue.at(deadlineMs, giveUp);
        const atMs = queue.nowMs + this.#delayMs(link) + server.slowMs;
        if (atMs > deadlineMs) return queue.at(deadlineMs, giveUp);
        queue.at(atMs, () => caller.deliver(settle));
      };
      const run = () => {
        if (server.stalledUntilMs > queue.nowMs) {
          if (server.stalledUntilMs > deadlineMs) {
            queue.at(deadlineMs, giveUp);
            queue.at(server.stalledUntilMs, () => attempt(execute));
          } else {
            queue.at(server.stalledUntilMs, run);
          }
          return;
        }
        try {
          const value = execute();
          reply(() => resolve(value));
        } catch (error) {
          reply(() => reject(error as Error));
        }
      };
      this.messages++;
      link.messages++;
      if (link.cutsThere > 0 || this.#strikes(link, "message-lost")) {
        queue.at(deadlineMs, giveUp);
        return;
      }
      const thereMs = this.#delayMs(link);
      queue.after(thereMs, run);
      if (this.#strikes(link, "message-repeated")) {
        queue.after(thereMs + this.#random.wait(10 * link.delayMs + 5), () => attempt(again));
      }
    });
  }

  #delayMs(link: Link): number {
    if (this.#isEven) return link.delayMs;
    const usual = link.delayMs * (0.5 + this.#random.fraction());
    if (link.storm === undefined) return usual;
    // Overtaken: held back just long enough for messages sent after it to come before it.
    if (this.#strikes(link, "message-reordered")) return usual + link.delayMs * (1 + this.#random.fraction());
    if (!this.#strikes(link, "message-delayed")) return usual;
    return usual + Math.max(20, link.delayMs * DELAYED_FACTOR * this.#random.fraction());
  }

  #strikes(link: Link, fault: MessageFault): boolean {
    const probability = link.storm?.[fault];
    if (probability === undefined || !this.#random.chance(probability)) return false;
    this.#onFault(fault);
    return true;
  }
}

/** A message that nobody waits for any more, or a repeated one: executed all the same, its outcome unseen. */
function attempt(execute: () => unknown): void {
  try {
    execute();
  } catch {
    // The server refused; nobody hears of it.
  }
}
