/**
 * Hashes of all parts of one text: after one pass over the text, the hash of any part of it costs a multiplication.
 *
 * A polynomial modulo 2^32 over UTF-16 units. Two texts may share a hash, so whoever finds one by its hash compares the texts.
 */

const BASE = 0x01000193;

export class RollingHash {
  /** Of the first so many units. Grows with the longest text. */
  #sums = new Int32Array(1025);
  #powers = powersUpTo(1024);
  length = 0;

  /** Takes another text. */
  read(text: string): void {
    const { length } = text;
    if (length >= this.#sums.length) {
      this.#sums = new Int32Array(2 * length);
      this.#powers = powersUpTo(2 * length);
    }
    let sum = 0;
    for (let i = 0; i < length; i++) {
      sum = (Math.imul(sum, BASE) + text.charCodeAt(i) + 1) | 0;
      this.#sums[i + 1] = sum;
    }
    this.length = length;
  }

  /** Of `length` units from `start` on. */
  of(start: number, length: number): number {
    return (this.#sums[start + length]! - Math.imul(this.#sums[start]!, this.#powers[length]!)) | 0;
  }
}

function powersUpTo(length: number): Int32Array {
  const powers = new Int32Array(length + 1).fill(1);
  for (let i = 1; i <= length; i++) powers[i] = Math.imul(powers[i - 1]!, BASE);
  return powers;
}

/** Of a whole text: what `of` says of the same units inside another text. */
export function hashOfText(text: string): number {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum = (Math.imul(sum, BASE) + text.charCodeAt(i) + 1) | 0;
  return sum;
}
