/** Requests without a pause, by several clients at once, to whichever servers are named; what came of each is counted. */
import { poll } from "./poll.ts";
import type { SluiceServer } from "./sluice-server.ts";

type Answer = Awaited<ReturnType<SluiceServer["post"]>>;

export interface LoadOptions {
  readonly clients: number;
  readonly operation: string;
  /** The body of a client's next request: each sends one after the other. */
  readonly bodyOf: (client: number) => object;
  /** Receives each answer, with the body of its request. */
  readonly onAnswer?: (target: SluiceServer, body: object, answer: Answer) => void;
  /** Receives the body of each request that was sent and cut off: whether it was counted is not known. */
  readonly onUnanswered?: (body: object) => void;
}

const MORE_WITHIN_MS = 60_000;

export class RequestLoad {
  /** Asked in turn. One that refuses the connection is passed over, as a client's next try would. */
  targets: readonly SluiceServer[] = [];
  /** How often each status was answered. */
  readonly statuses = new Map<number, number>();
  unanswered = 0;
  /** Connections that were refused before anything was sent. */
  refused = 0;
  #answered = 0;
  readonly #options: LoadOptions;
  readonly #clients: Promise<void>[];
  #isStopped = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#clients = Array.from({ length: options.clients }, (_, i) => this.#client(i));
    // Told by stop().
    for (const client of this.#clients) client.catch(() => {});
  }

  /** Resolves when so many more were answered. */
  async more(count: number): Promise<void> {
    const until = this.#answered + count;
    await poll(`${count} more answers`, () => this.#answered >= until, MORE_WITHIN_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#clients);
  }

  async #client(number: number): Promise<void> {
    for (let turn = number; !this.#isStopped; turn++) {
      const target = this.targets[turn % this.targets.length];
      if (target === undefined) await new Promise((resolve) => setImmediate(resolve));
      else await this.#ask(target, this.#options.bodyOf(number));
    }
  }

  async #ask(target: SluiceServer, body: object): Promise<void> {
    const { operation, onAnswer, onUnanswered } = this.#options;
    let answer: Answer;
    try {
      answer = await target.post(operation, body);
    } catch (error) {
      // A request that hangs is nobody's to bear.
      if ((error as Error).name === "TimeoutError") throw error;
      if (isRefused(error)) {
        this.refused++;
        return;
      }
      this.unanswered++;
      onUnanswered?.(body);
      return;
    }
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
    this.#answered++;
    onAnswer?.(target, body, answer);
  }
}

/** Nothing was sent. */
function isRefused(error: unknown): boolean {
  const { cause } = error as Error & { readonly cause?: { readonly code?: string } };
  return cause?.code === "ECONNREFUSED";
}
