/**
 * What an attack is: something that one hostile client does to a server on loopback, again and again until it is stopped.
 *
 * Bounded: each attack has a fixed number of connections or a fixed rate. It keeps going whatever the server answers, and judges nothing:
 * the suite that starts it does.
 */

export interface Target {
  readonly isTls: boolean;
  readonly port: number;
  readonly opsPort: number;
  /** A key of the hostile workspace with all permissions; empty for a server that has none. */
  readonly key: string;
}

export interface Attack {
  readonly name: string;
  start(target: Target, tally: Tally): void;
}

/** All attacks come from here: an address of loopback that no honest client uses. */
export const HOSTILE_ADDRESS = "127.0.0.2";

/** What came of one attack: statuses, connections that were made, closed or failed. */
export class Tally {
  readonly #counts = new Map<string, number>();

  count(what: string | number): void {
    this.#counts.set(String(what), (this.#counts.get(String(what)) ?? 0) + 1);
  }

  read(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
