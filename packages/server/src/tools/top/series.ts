/** What `/metrics` told at one moment, read back from the text for Prometheus. */

export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\\\": "\\", '\\"': '"', "\\n": "\n" };

export class SeriesTable {
  readonly #byName = new Map<string, Series[]>();

  constructor(text: string) {
    for (const line of text.split("\n")) {
      const [, name, labels = "", value] = LINE.exec(line) ?? [];
      if (name === undefined) continue;
      const sample = { labels: labelsOf(labels), value: Number(value) };
      const known = this.#byName.get(name);
      if (known === undefined) this.#byName.set(name, [sample]);
      else known.push(sample);
    }
  }

  all(name: string): readonly Series[] {
    return this.#byName.get(name) ?? [];
  }

  /** The sum of those with these labels; undefined if there is none. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const found = this.all(name).filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    return found.length === 0 ? undefined : found.reduce((sum, sample) => sum + sample.value, 0);
  }
}

function labelsOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(LABEL)].map(([, name, value]) => [
    name!,
    value!.replaceAll(/\\[\\"n]/g, (mark) => ESCAPES[mark]!),
  ]);
  return Object.fromEntries(pairs) as Record<string, string>;
}
