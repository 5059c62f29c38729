/**
 * What was ever accepted of each window of a plan: what a perfect counter would have.
 *
 * A cost that an origin admits counts from that moment on, because every process may see it there. The decision that follows names its call, so
 * that the cost is not counted again; if the process was killed before its answer, none follows. So a call counts the larger of what the
 * origin admitted and what decisions counted, in whichever order they came.
 */
interface Counted {
  admitted: number;
  decided: number;
}

export class AcceptedTotals {
  readonly #totals = new Map<number, number>();
  readonly #calls = new Map<string, Counted>();

  of(sequence: number): number {
    return this.#totals.get(sequence) ?? 0;
  }

  /** An origin executed a call of a process, and counted `cost` for it. A copy of the call counts nothing more. */
  admitted(sequence: number, process: string, call: number, cost: number): void {
    const counted = this.#call(process, call);
    this.#change(sequence, counted, { ...counted, admitted: Math.max(counted.admitted, cost) });
  }

  /** A decision counted `cost`. A call of 0 is none: memory decided. */
  decided(sequence: number, process: string, call: number, cost: number): void {
    if (call === 0) {
      this.#add(sequence, cost);
      return;
    }
    const counted = this.#call(process, call);
    this.#change(sequence, counted, { ...counted, decided: counted.decided + cost });
  }

  #call(process: string, call: number): Counted {
    const name = `${process} ${call}`;
    const counted = this.#calls.get(name) ?? { admitted: 0, decided: 0 };
    this.#calls.set(name, counted);
    return counted;
  }

  #change(sequence: number, counted: Counted, to: Counted): void {
    this.#add(sequence, Math.max(to.admitted, to.decided) - Math.max(counted.admitted, counted.decided));
    Object.assign(counted, to);
  }

  #add(sequence: number, cost: number): void {
    this.#totals.set(sequence, this.of(sequence) + cost);
  }
}
