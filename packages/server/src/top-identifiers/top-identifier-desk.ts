/** Where the API tells of decisions, and asks who hits a namespace most: in this process, or in all workers of a server. */
import type { Decision } from "sluice";
import { isAccepted } from "../metrics/tally.ts";
import { COUNTERS, TopIdentifiers, type TopQuestion, type TopReading } from "./top-identifiers.ts";

export interface TopIdentifierDeskOptions {
  readonly namespacesMax: number;
  /** A clock that does not go back, and that all workers of a server share. */
  readonly nowMs: () => number;
  /** Asks all processes of the server; left out where this is the only one. */
  readonly askAll?: ((question: TopQuestion) => Promise<TopReading>) | undefined;
}

export interface Hit {
  readonly identifier: string;
  readonly cost: number;
}

export class TopIdentifierDesk {
  readonly #topIdentifiers: TopIdentifiers;
  readonly #options: TopIdentifierDeskOptions;

  constructor(options: TopIdentifierDeskOptions) {
    this.#options = options;
    this.#topIdentifiers = new TopIdentifiers(
      { namespacesMax: options.namespacesMax, counters: COUNTERS },
      options.nowMs(),
    );
  }

  /** For `decided`: reading a clock costs as much as the rest, and the items of a batch can share it. */
  nowMs(): number {
    return this.#options.nowMs();
  }

  decided(namespaceId: string, { identifier, cost }: Hit, decision: Decision, nowMs: number): void {
    if (isAccepted(decision)) this.#topIdentifiers.used(namespaceId, identifier, cost, nowMs);
    // One that fits by itself was not denied: another item of its batch was.
    else if (decision.reason !== "batch") this.#topIdentifiers.denied(namespaceId, identifier, nowMs);
  }

  /** A charge is use, whether it fits or not: nobody was denied. */
  charged(namespaceId: string, { identifier, cost }: Hit, { reason }: Decision, nowMs: number): void {
    if (reason === "charged") this.#topIdentifiers.used(namespaceId, identifier, cost, nowMs);
  }

  /** What this process knows. */
  own(question: TopQuestion): TopReading {
    return this.#topIdentifiers.read(question, this.#options.nowMs());
  }

  /** What the server knows. */
  async ask(question: TopQuestion): Promise<TopReading> {
    return this.#options.askAll === undefined ? this.own(question) : this.#options.askAll(question);
  }
}
