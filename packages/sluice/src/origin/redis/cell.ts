/**
 * How cells are named in Redis: `<prefix>1:{<key>}:<sequence>`, a hash with a field for each component.
 *
 * The 1 is the version of the format: a release that stores cells otherwise takes another number, and both can share a Redis.
 * The braces are a hash tag: all cells of a key are on one node of a Cluster, and one script call may touch them.
 *
 * Two cells never share a name: the sequence follows the last colon, and the prefix holds no brace. A key that is long is
 * named by its SHA-256 instead, so that no name is longer than a few hundred bytes. So is one with a closing brace: the tag would end
 * there, and a client could put all of its keys on one node of a Cluster by the first characters of its identifiers.
 */
import { createHash } from "node:crypto";

const FORMAT = "1";
const KEY_LENGTH_MAX = 256;

export class RedisCellNames {
  readonly #start: string;

  constructor(prefix: string) {
    this.#start = `${prefix}${FORMAT}:{`;
  }

  of(key: string, sequence: number): string {
    return `${this.#start}${nameOf(key)}}:${sequence}`;
  }

  /** A cell, and the one of the window before it. */
  both(key: string, sequence: number): readonly [string, string] {
    const start = `${this.#start}${nameOf(key)}}:`;
    return [`${start}${sequence}`, `${start}${sequence - 1}`];
  }

  /** The living and expired holds of a key: no cell has this name, because a cell's ends in digits after the last brace and a colon. */
  holds(key: string): string {
    return `${this.#start}${nameOf(key)}}:holds`;
  }

  /** The holds of a key that ended in a bucket of ten minutes. */
  ended(key: string, bucket: number): string {
    return `${this.#start}${nameOf(key)}}:ended:${bucket}`;
  }
}

function nameOf(key: string): string {
  return key.length <= KEY_LENGTH_MAX && !key.includes("}")
    ? key
    : `#${createHash("sha256").update(key).digest("hex")}`;
}

/** The field of a component. What the cell keeps for itself (`t`, `e`) cannot be taken for one. */
export function componentField(writer: string): string {
  return `w:${writer}`;
}
