/**
 * Which connection events are news: for each address one `disconnected` until it is connected again, and every `connected`.
 *
 * A driver reports every attempt that fails, several in the first second of an outage. Told one by one, they used up what the bound of
 * events.ts allows, and delayed the news that the store is back. The attempts are still counted, as failures of the origin.
 */
import type { ConnectionEvent } from "../origin/origin.ts";

/** Nodes of a Cluster that change their addresses must not grow this without bound. Beyond it, a `disconnected` may be repeated. */
const ADDRESSES_MAX = 1_024;

export class ConnectionNews {
  readonly #down = new Set<string>();

  /** Takes note of the event; true if it is news. */
  note({ kind, address }: ConnectionEvent): boolean {
    if (kind === "connected") {
      this.#down.delete(address);
      return true;
    }
    if (this.#down.has(address)) return false;
    if (this.#down.size >= ADDRESSES_MAX) this.#down.clear();
    this.#down.add(address);
    return true;
  }
}
