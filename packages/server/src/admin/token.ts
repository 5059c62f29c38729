/**
 * What a client shows to be let in: `sluice_`, 32 random letters and digits, and a checksum of six.
 *
 * The checksum tells a mistyped or cut token from an unknown one without asking a server, and lets scanners find leaked ones. It
 * protects nothing: 32 characters of base62 are 190 bits, and those do. So a plain SHA-256 is enough to store them by: nobody
 * guesses 190 bits, and a slow hash would be paid by every request.
 */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Random } from "sluice";
import { base62Of, randomBase62 } from "./admin-id.ts";

const PREFIX = "sluice_";
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
/** A token is recognised by these, and not guessed: the prefix and four characters of 32. */
const START_LENGTH = PREFIX.length + 4;

export const TOKEN_LENGTH_MAX = 512;

export function newToken(random: Random): string {
  const body = PREFIX + randomBase62(RANDOM_LENGTH, random);
  return body + checksumOf(body);
}

/** Whether this begins like one of ours and is not one: cut, or mistyped. */
export function isMistyped(token: string): boolean {
  if (!token.startsWith(PREFIX)) return false;
  const body = token.slice(0, -CHECKSUM_LENGTH);
  return body.length !== PREFIX.length + RANDOM_LENGTH || token.slice(-CHECKSUM_LENGTH) !== checksumOf(body);
}

/** What is stored of it, in hexadecimal. */
export function hashOf(token: string): string {
  return hash("sha256", token, "hex");
}

/** Enough to recognise it. Of a short one (a preset may have 8 characters) no more than a quarter. */
export function startOf(token: string): string {
  return token.slice(0, Math.min(START_LENGTH, Math.floor(token.length / 4)));
}

/** In a time that does not depend on where two hashes differ. */
export function isSameHash(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

function checksumOf(body: string): string {
  return base62Of(crc32(body));
}
