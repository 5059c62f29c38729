/**
 * Text of others, made safe for a terminal: names and patterns are stored by whoever has a key, and a terminal obeys what is in them.
 *
 * Control characters, marks that change the direction of writing, and separators of lines become `\uXXXX`, which JSON reads as the same
 * character again. What joins emoji stays.
 */

const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const JOINERS = "\u200c\u200d";

/** For everything that is printed: lines and tabs stay. */
export function safeText(text: string): string {
  return escapedBut(`\n\t${JOINERS}`, text);
}

/** For one value within a line. */
export function safeLine(text: string): string {
  return escapedBut(JOINERS, text);
}

function escapedBut(kept: string, text: string): string {
  return text.replaceAll(UNSAFE, (character) => (kept.includes(character) ? character : escaped(character)));
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
