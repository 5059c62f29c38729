/**
 * Promises that are under way: how many there are, and when there are none.
 *
 * A counter and one callback for each, because every request that waits passes here: a set of them and `finally` took a microsecond.
 */
export class UnderWay {
  #count = 0;
  #settled: (() => void)[] = [];
  readonly #end = (): void => {
    this.#count--;
    if (this.#count > 0) return;
    for (const resolve of this.#settled.splice(0)) resolve();
  };

  get count(): number {
    return this.#count;
  }

  /** Counts it until it settles; returns the same promise. */
  add<Answer>(promise: Promise<Answer>): Promise<Answer> {
    this.#count++;
    promise.then(this.#end, this.#end);
    return promise;
  }

  /** Resolves once none is under way. */
  async settled(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#settled.push(resolve));
  }
}
