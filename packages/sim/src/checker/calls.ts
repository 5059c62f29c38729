/**
 * Calls to an origin (`admit`), as the origin and the process saw them.
 *
 * What the origin counted for a call is accepted from that moment on, because everybody else may see it. The decisions that end the call name
 * it, so that the same cost is not accepted twice: a call contributes the larger of what the origin counted and what was decided. In that
 * way it does not matter which of the two came first: the origin may execute a call after it was given up.
 */
import type { OriginEvent } from "sluice";

export interface CallTruth {
  /** What the origin counted for it, and when. */
  admitted: number;
  executedMs: number;
  /** Whether the origin answered that it had been executed already, or overtaken. */
  isRepeated: boolean;
  /** Executions, copies included. */
  executions: number;
  /** The costs of the decisions that named it. */
  decided: number;
  /** What the process sent as its total, and when, by its monotonic clock; null until the call has ended there. */
  ended: { readonly total: number; readonly beganMs: number; readonly isAnswered: boolean } | null;
}

export class Calls {
  readonly #calls = new Map<string, CallTruth>();

  find(life: string, call: number): CallTruth | undefined {
    return this.#calls.get(`${life} ${call}`);
  }

  /** The origin executed it; answers what is newly accepted by that. */
  admitted(life: string, number: number, cost: number, atMs: number, isRepeated: boolean): number {
    const call = this.#at(life, number);
    const before = Math.max(call.admitted, call.decided);
    if (call.executions++ === 0) call.executedMs = atMs;
    call.isRepeated ||= isRepeated;
    call.admitted = Math.max(call.admitted, cost);
    return Math.max(call.admitted, call.decided) - before;
  }

  /** A request of it was decided, and its cost counted; answers what is newly accepted by that. */
  told(life: string, number: number, cost: number): number {
    const call = this.#at(life, number);
    const before = Math.max(call.admitted, call.decided);
    call.decided += cost;
    return Math.max(call.admitted, call.decided) - before;
  }

  /** The first of a call's two events is of its own window. */
  ended(life: string, { call: number, total, beganMs, isAnswered }: OriginEvent): void {
    this.#at(life, number!).ended ??= { total, beganMs, isAnswered };
  }

  #at(life: string, number: number): CallTruth {
    const name = `${life} ${number}`;
    let call = this.#calls.get(name);
    if (call === undefined) {
      call = { admitted: 0, executedMs: 0, isRepeated: false, executions: 0, decided: 0, ended: null };
      this.#calls.set(name, call);
    }
    return call;
  }
}
