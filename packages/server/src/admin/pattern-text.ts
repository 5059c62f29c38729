/**
 * The text that patterns are tried on or filed by at this moment: its hashes, and what finds pieces in it.
 *
 * All indexes of a process share one, because nothing waits between reading a text and using it. Its hashes have a secret, so that clients
 * cannot choose patterns and identifiers that collide.
 */
import type { Random } from "sluice";
import { PieceFinder } from "./piece-finder.ts";
import { RollingHash } from "./rolling-hash.ts";

export class PatternText {
  readonly hashes: RollingHash;
  readonly finder: PieceFinder;

  constructor(random: Random) {
    this.hashes = new RollingHash(random);
    this.finder = new PieceFinder(this.hashes);
  }
}
