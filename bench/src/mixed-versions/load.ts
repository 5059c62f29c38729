/** Clients that ask without a pause whichever servers are named, in turn, and enter every answer in the ledger. */
import { poll } from "../../../test/rig/poll.ts";
import type { SluiceServer } from "../../../test/rig/sluice-server.ts";
import { Ledger } from "./ledger.ts";

export const NAMESPACE = "mixed";
/** So long that no window ends meanwhile. */
export const DURATION = 30 * 86_400_000;
const TIGHT_LIMIT = 50;
const WIDE_LIMIT = 1_000_000_000;
/** After so many denials a client turns to another identifier. */
const DENIALS_EACH = 5;
/** Every so many requests a client asks about the identifier that is never denied. */
const WIDE_EVERY = 4;
const WAIT_MS = 60_000;

/** What one server has answered. */
export interface Answers {
  allowed: number;
  denied: number;
}

export class Load {
  targets: readonly SluiceServer[] = [];
  readonly ledger = new Ledger();
  readonly answers = new Map<SluiceServer, Answers>();
  readonly statuses = new Map<number, number>();
  /** Connections that were refused before anything was sent. */
  refused = 0;
  readonly #clients: Promise<void>[];
  #isStopped = false;

  constructor(clients: number) {
    this.#clients = Array.from({ length: clients }, (_, i) => this.#client(i));
    // Told by stop().
    for (const client of this.#clients) client.catch(() => {});
  }

  get answered(): number {
    return this.ledger.total("accepted") + this.ledger.total("denied");
  }

  /** Resolves when so many more were answered. */
  async more(count: number): Promise<void> {
    const until = this.answered + count;
    await poll(`${count} more answers`, () => this.answered >= until, WAIT_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#clients);
  }

  async #client(number: number): Promise<void> {
    const wide = `wide_${number}`;
    this.ledger.open(wide, WIDE_LIMIT);
    let turn = number;
    for (let next = 0; !this.#isStopped; next++) {
      const tight = `tight_${number}_${next}`;
      const account = this.ledger.open(tight, TIGHT_LIMIT);
      while (!this.#isStopped && account.denied < DENIALS_EACH) {
        const target = this.targets[turn++ % this.targets.length];
        if (target === undefined) await new Promise((resolve) => setImmediate(resolve));
        else await this.#ask(target, turn % WIDE_EVERY === 0 ? wide : tight);
      }
    }
  }

  async #ask(target: SluiceServer, identifier: string): Promise<void> {
    const account = this.ledger.accounts.get(identifier)!;
    const { limit } = account;
    try {
      const { status, body } = await target.post("limit", {
        namespace: NAMESPACE,
        identifier,
        limit,
        duration: DURATION,
      });
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      if (status !== 200) return;
      const { success } = body.data as { readonly success: boolean };
      this.ledger.heard(identifier, success);
      const answers = this.answers.get(target) ?? { allowed: 0, denied: 0 };
      answers[success ? "allowed" : "denied"]++;
      this.answers.set(target, answers);
    } catch (error) {
      if ((error as Error).name === "TimeoutError") throw error;
      const { cause } = error as Error & { readonly cause?: { readonly code?: string } };
      if (cause?.code === "ECONNREFUSED") this.refused++;
      else account.unanswered++;
    }
  }
}
