/**
 * Identifiers that a collation, a column, a quoting or a protocol would take for one another: as many as are wanted, all
 * different, the same for the same seed.
 */
import { SeededRandom } from "./seeded-random.ts";

/** Each is near several others: by case, blanks, composition, width, or what an escape makes of it. */
const PIECES: readonly string[] = [
  ..."aAbBsSkKiI",
  "ß",
  "ss",
  "ẞ",
  "ı",
  "İ",
  "K", // the Kelvin sign
  "é",
  "e\u0301",
  "Å",
  "A\u030a",
  "\u212b", // the Ångström sign
  "ﬁ",
  "ａ", // full width
  " ",
  "  ",
  "\t",
  "\u00a0",
  "\u200b",
  "\u200d",
  "\ufeff",
  "\u0000",
  "\u0001",
  "\u001a",
  "\u007f",
  "\r\n",
  "'",
  '"',
  "`",
  "\\",
  "\\0",
  "\\\\",
  "%",
  "_",
  "?",
  "$1",
  ";",
  "--",
  "/*",
  "{",
  "}",
  ":",
  ",",
  "NULL",
  "🙂",
  "👩\u200d🚀",
  "\u{10ffff}",
  "م",
  "日本",
];
const LENGTH_MAX = 512;

export function oddIdentifiers(seed: number, count: number): readonly string[] {
  const random = new SeededRandom(seed);
  const found = new Set<string>();
  while (found.size < count) {
    // Mostly short, so that many differ in one piece only; a few as long as can be, in bytes too.
    const pieces = random.chance(0.01) ? LENGTH_MAX : 1 + random.below(5);
    const piece = random.pick(PIECES);
    let text = "";
    for (let i = 0; i < pieces; i++) text += pieces === LENGTH_MAX && i > 8 ? piece : random.pick(PIECES);
    found.add([...text].slice(0, LENGTH_MAX).join(""));
  }
  return [...found];
}
