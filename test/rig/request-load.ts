/** Requests without a pause, by several loops at once, to whichever servers are named; what came of each is counted. */
import { poll } from "./poll.ts";
import type { SluiceServer } from "./sluice-server.ts";

export interface LoadOptions {
  readonly loops: number;
  readonly operation: string;
  readonly body: object;
}

export interface LoadReport {
  /** How often each status was answered. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Sent, and cut off: whether it was counted is not known. */
  readonly unanswered: number;
}

export class RequestLoad {
  /** Asked in turn. One that refuses the connection is passed over, as a client's next try would. */
  targets: readonly SluiceServer[] = [];
  readonly #options: LoadOptions;
  readonly #statuses = new Map<number, number>();
  readonly #loops: Promise<void>[];
  #unanswered = 0;
  #answered = 0;
  #isStopped = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#loops = Array.from({ length: options.loops }, (_, i) => this.#loop(i));
    // Told by stop().
    for (const loop of this.#loops) loop.catch(() => {});
  }

  /** Resolves when so many more were answered. */
  async more(count: number): Promise<void> {
    const until = this.#answered + count;
    await poll(`${count} more answers`, () => this.#answered >= until, 30_000);
  }

  async stop(): Promise<LoadReport> {
    this.#isStopped = true;
    await Promise.all(this.#loops);
    return { statuses: this.#statuses, unanswered: this.#unanswered };
  }

  async #loop(first: number): Promise<void> {
    for (let turn = first; !this.#isStopped; turn++) {
      const target = this.targets[turn % this.targets.length];
      if (target === undefined) await new Promise((resolve) => setImmediate(resolve));
      else await this.#ask(target);
    }
  }

  async #ask(target: SluiceServer): Promise<void> {
    try {
      const { status } = await target.post(this.#options.operation, this.#options.body);
      this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
      this.#answered += 1;
    } catch (error) {
      // A request that hangs is nobody's to bear.
      if ((error as Error).name === "TimeoutError") throw error;
      if (!isRefused(error)) this.#unanswered += 1;
    }
  }
}

/** Nothing was sent. */
function isRefused(error: unknown): boolean {
  const { cause } = error as Error & { readonly cause?: { readonly code?: string } };
  return cause?.code === "ECONNREFUSED";
}
