/**
 * The token of a reservation: its id, where it is held, and the keys of its limits. With it any process of the region can settle, release or renew.
 *
 * `<id>.<place>.<keys>`: the id has 128 random bits; the place is the identity of the origin, or that of the process if it is held in
 * memory; the keys are JSON in base64url. Nothing in it is trusted: the origin knows whether the id is held at these keys, and no number that counts is
 * in it.
 */
import { RESERVE_MAX } from "../core/bounds.ts";
import type { DurationMs } from "../core/brands.ts";
import type { Random } from "../core/clock.ts";
import { SluiceError } from "../core/errors.ts";
import type { Key } from "../engine/key.ts";

export interface ReservationToken {
  readonly id: string;
  readonly place: string;
  /** One for each limit, in the order of the requests. */
  readonly keys: readonly Key[];
}

/** What 16 keys of the longest names take: 3 × 512 characters of up to 4 bytes each, as base64 of JSON, with room to spare. */
const TOKEN_LENGTH_MAX = 262_144;
const SHAPE = /^([\w-]{22})\.([\w-]{0,32})\.([\w-]+)$/;

export function drawId(random: Random): string {
  const bytes = Buffer.alloc(16);
  for (let i = 0; i < 16; i += 4) bytes.writeUInt32LE(random.uint32(), i);
  return bytes.toString("base64url");
}

export function tokenOf({ id, place, keys }: ReservationToken): string {
  const parts = keys.map(({ workspace, namespace, identifier, durationMs }) => [
    workspace,
    namespace,
    identifier,
    durationMs,
  ]);
  return `${id}.${place}.${Buffer.from(JSON.stringify(parts)).toString("base64url")}`;
}

/** @throws SluiceError if it is not a token. */
export function readToken(token: unknown): ReservationToken {
  const [, id = "", place = "", text = ""] =
    typeof token === "string" && token.length <= TOKEN_LENGTH_MAX ? (SHAPE.exec(token) ?? []) : [];
  const keys = id === "" ? null : keysOf(text);
  if (keys === null) throw new SluiceError("RL_RESERVATION_INVALID", "id", token);
  return { id, place, keys };
}

function keysOf(text: string): readonly Key[] | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    const isList = Array.isArray(parts) && parts.length >= 1 && parts.length <= RESERVE_MAX;
    return isList && parts.every(isParts) ? parts.map(keyOf) : null;
  } catch {
    return null;
  }
}

type Parts = readonly [string, string, string, number];

/** Whether the parts are legal is checked where they are hashed. */
function isParts(parts: unknown): parts is Parts {
  if (!Array.isArray(parts) || parts.length !== 4) return false;
  return parts.slice(0, 3).every((part) => typeof part === "string") && Number.isSafeInteger(parts[3]);
}

function keyOf([workspace, namespace, identifier, durationMs]: Parts): Key {
  return { workspace, namespace, identifier, durationMs: durationMs as DurationMs };
}
