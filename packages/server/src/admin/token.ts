/**
 * What a client shows to be let in: `sluice_`, 32 random letters and digits, and a checksum of six.
 *
 * The checksum tells a mistyped token from an unknown one without asking a server, and lets scanners find leaked ones. It
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

const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** Whether this looks like one of ours and is not one. What has another form is somebody's own: a preset may be anything. */
export function isMistyped(token: string): boolean {
  return FORM.test(token) && token.slice(-CHECKSUM_LENGTH) !== checksumOf(token.slice(0, -CHECKSUM_LENGTH));
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
