/**
 * Hashes of all parts of one text: after one pass over the text, the hash of any part of it costs a multiplication.
 *
 * A polynomial over UTF-16 units, at a secret base and modulo a prime. Two texts may share a hash, so whoever finds one by its hash compares
 * the texts. Nobody who does not know the base can choose texts that share one: two texts of n units do for at most n of the 2^26 bases.
 *
 * Modulo 2^32, which costs less, a secret base does not help: the Thue-Morse text of 256 units and its complement share a hash at every base.
 */
import type { Random } from "sluice";

/** The largest prime below 2^26: a product of two numbers below it, and a unit, is exact in a double. */
const PRIME = 67_108_859;
const INVERSE = 1 / PRIME;
/** A base of few bits would be a weak one: texts of one or two units would have small hashes. */
const BASE_MIN = 2 ** 16;

export class RollingHash {
  readonly #base: number;
  /** Of the first so many units. Grows with the longest text. */
  #sums = new Int32Array(1025);
  #powers: Int32Array;
  length = 0;

  constructor(random: Random) {
    this.#base = BASE_MIN + (random.uint32() % (PRIME - BASE_MIN));
    this.#powers = powersUpTo(1024, this.#base);
  }

  /** Takes another text. */
  read(text: string): void {
    const { length } = text;
    if (length >= this.#sums.length) {
      this.#sums = new Int32Array(2 * length);
      this.#powers = powersUpTo(2 * length, this.#base);
    }
    let sum = 0;
    for (let i = 0; i < length; i++) {
      sum = modulo(sum * this.#base + text.charCodeAt(i) + 1);
      this.#sums[i + 1] = sum;
    }
    this.length = length;
  }

  /** Of `length` units from `start` on. */
  of(start: number, length: number): number {
    const difference = this.#sums[start + length]! - modulo(this.#sums[start]! * this.#powers[length]!);
    return difference < 0 ? difference + PRIME : difference;
  }

  /** Of a whole text, whatever was read: what `of` says of the same units inside another text. */
  ofText(text: string): number {
    let sum = 0;
    for (let i = 0; i < text.length; i++) sum = modulo(sum * this.#base + text.charCodeAt(i) + 1);
    return sum;
  }
}

/** Of an integer from 0 to 2^53. A quotient that is rounded is wrong by one at most; the operator % takes several times as long. */
function modulo(value: number): number {
  const rest = value - Math.floor(value * INVERSE) * PRIME;
  if (rest < 0) return rest + PRIME;
  return rest < PRIME ? rest : rest - PRIME;
}

function powersUpTo(length: number, base: number): Int32Array {
  const powers = new Int32Array(length + 1).fill(1);
  for (let i = 1; i <= length; i++) powers[i] = modulo(powers[i - 1]! * base);
  return powers;
}
