/**
 * A model of one key at an origin: what `admit` must answer, in the fewest words, with shares in whole numbers of any size.
 *
 * Support for tests: no entry of the build leads here.
 */
import type { Admit, Admitted, OriginCount } from "./origin.ts";

export class AdmitModel {
  /** Components by window and writer. */
  readonly #components = new Map<string, number>();

  component(sequence: number, writer: string): number {
    return this.#components.get(`${sequence}/${writer}`) ?? 0;
  }

  admit(call: Admit): Admitted {
    const { sequence, writer, total, requests } = call;
    this.#raise(sequence - 1, writer, call.previousTotal);
    let allowed: boolean[] | null = null;
    if (this.component(sequence, writer) <= total) {
      const others = this.#sum(sequence) - this.component(sequence, writer);
      const previous = BigInt(this.#sum(sequence - 1) + call.previousForeign);
      const share = Number((previous * BigInt(call.leftMs)) / BigInt(call.durationMs));
      let raised = total;
      allowed = requests.map(({ limit, cost }) => {
        const fits = others + call.foreign + share + raised + cost <= limit;
        if (fits) raised += cost;
        return fits;
      });
      this.#raise(sequence, writer, raised);
    }
    return { allowed, current: this.#count(sequence, writer), previous: this.#count(sequence - 1, writer) };
  }

  #raise(sequence: number, writer: string, total: number): void {
    this.#components.set(`${sequence}/${writer}`, Math.max(total, this.component(sequence, writer)));
  }

  #sum(sequence: number): number {
    const own = [...this.#components].filter(([name]) => name.startsWith(`${sequence}/`));
    return own.reduce((sum, [, component]) => sum + component, 0);
  }

  #count(sequence: number, writer: string): OriginCount {
    return { sum: this.#sum(sequence), component: this.component(sequence, writer) };
  }
}
