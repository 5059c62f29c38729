/**
 * Texts that many names have in common (workspaces and namespaces), kept once.
 *
 * Fixed size, one place that a text can be in: a newcomer takes it over, and names that hold the old text keep it. What it gives out are
 * copies: a caller's string may be a slice that keeps a whole request alive.
 */
import { detach } from "../core/part.ts";

const SIZE = 256;

export class SharedTexts {
  readonly #places: string[] = new Array<string>(SIZE).fill("");

  /** The same text, of at least one unit, as a string that may be kept. */
  share(text: string): string {
    const { length } = text;
    const mixed = length + text.charCodeAt(length - 1) * 7 + text.charCodeAt(length >> 1) * 31;
    const at = mixed & (SIZE - 1);
    const known = this.#places[at]!;
    if (known === text) return known;
    const copy = detach(text);
    this.#places[at] = copy;
    return copy;
  }
}
