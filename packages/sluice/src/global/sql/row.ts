/**
 * Rows as all three databases hold them: one shape for counts and for denials.
 *
 * Invariant: the primary key is (hash of the key, sequence, region), all compared byte by byte; so no collation, column width or
 * padding can take two cells for one. The parts of the key stand beside it to be read by people and by imports.
 */
import { hash } from "node:crypto";
import { DURATION_MAX_MS, DURATION_MIN_MS } from "../../core/bounds.ts";
import type { DurationMs } from "../../core/brands.ts";
import { isPart } from "../../core/part.ts";
import { encodeKey, type Key } from "../../engine/key.ts";
import type { SqlRow } from "./link.ts";

export interface StoredRow {
  readonly hash: Uint8Array;
  readonly sequence: number;
  readonly region: string;
  /** The count, or the limit of a denial. */
  readonly amount: number;
  /** 1 if some of a count was charged, otherwise 0; null for a denial, which has no such column. */
  readonly charged: 0 | 1 | null;
  readonly expiresAtMs: number;
  readonly workspace: string;
  readonly namespace: string;
  readonly identifier: string;
  readonly durationMs: number;
}

/** 128 bits: ten thousand million keys meet with a chance of 1 in 10^19, and nobody can aim at another's key. */
const HASH_BYTES = 16;

/** Question marks and the expression of the time. */
const PLACE_BYTES = 150;

/** The column of the amount: a count, or the limit of a denial. */
export type Amount = "count" | "limit_count";

/** The columns that say something beside the amount. Like it they are never taken back: of two rows the larger stays. */
export function notesOf(amount: Amount): readonly string[] {
  return amount === "count" ? ["charged"] : [];
}

/** The columns of a row, in the order of `valuesOf`; the fourth is the amount, whose name differs. */
export function columnsOf(amount: Amount): readonly string[] {
  return [
    "key_hash",
    "sequence",
    "region",
    amount,
    "expires_at",
    "workspace",
    "namespace",
    "identifier",
    "duration_ms",
    ...notesOf(amount),
  ];
}

export function valuesOf(row: StoredRow): readonly (string | number | Uint8Array)[] {
  const { hash, sequence, region, amount, expiresAtMs, workspace, namespace, identifier, durationMs, charged } = row;
  const values = [hash, sequence, region, amount, expiresAtMs, workspace, namespace, identifier, durationMs];
  return charged === null ? values : [...values, charged];
}

export function storedRow(
  region: string,
  cell: { readonly key: Key; readonly sequence: number; readonly expiresAtMs: number },
  amount: number,
  charged: StoredRow["charged"],
): StoredRow {
  const { key, sequence, expiresAtMs } = cell;
  return {
    hash: hash("sha256", encodeKey(key), "buffer").subarray(0, HASH_BYTES),
    sequence,
    region: escapeText(region),
    amount,
    expiresAtMs: Math.ceil(expiresAtMs),
    workspace: escapeText(key.workspace),
    namespace: escapeText(key.namespace),
    identifier: escapeText(key.identifier),
    durationMs: key.durationMs,
    charged,
  };
}

/** What a row adds to a statement, at most: its texts, 9 bytes for each of four numbers, and its place in the text. */
export function bytesOf({ hash, region, workspace, namespace, identifier }: StoredRow): number {
  const texts = [region, workspace, namespace, identifier];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), hash.length + 36 + PLACE_BYTES);
}

/** By primary key: writers that take rows in one order do not deadlock. */
export function compareRows(a: StoredRow, b: StoredRow): number {
  return Buffer.compare(a.hash, b.hash) || a.sequence - b.sequence;
}

/** The key of a row that was read, or null if it cannot be one. */
export function keyOfRow(row: SqlRow): Key | null {
  const [workspace, namespace, identifier] = [row["workspace"], row["namespace"], row["identifier"]].map((part) =>
    typeof part === "string" ? unescapeText(part) : "",
  ) as [string, string, string];
  const durationMs = integerOf(row["duration_ms"]);
  const isKey = isPart(workspace) && isPart(namespace) && isPart(identifier);
  if (!isKey || !(durationMs >= DURATION_MIN_MS && durationMs <= DURATION_MAX_MS)) return null;
  return { workspace, namespace, identifier, durationMs: durationMs as DurationMs };
}

/** A 64-bit integer or a sum of them, however the driver gives it: exact, or NaN. Never rounded. */
export function integerOf(value: unknown): number {
  const number = typeof value === "number" ? value : typeof value === "string" && value === "" ? NaN : Number(value);
  return value !== null && Number.isSafeInteger(number) ? number : Number.NaN;
}

/** NUL is the one character that PostgreSQL's texts and some SQLite drivers do not carry. */
export function escapeText(text: string): string {
  return /[\\\0]/.test(text) ? text.replaceAll("\\", "\\\\").replaceAll("\0", "\\0") : text;
}

/** A text, however the driver gives it: MySQL stores region names as bytes. */
export function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
}

export function regionOf(value: unknown): string {
  return unescapeText(textOf(value));
}

export function unescapeText(text: string): string {
  return text.includes("\\") ? text.replaceAll(/\\([\\0])/g, (_, which) => (which === "0" ? "\0" : "\\")) : text;
}
