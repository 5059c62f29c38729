/**
 * Whether a server should be sent requests, and how each layer is.
 *
 * A server is ready once it has read the keys and namespaces, there is a key, and it has read what the other regions have counted: from
 * then on it decides whatever else is away, as the layers promise. To call it unready because Redis is away would take every server
 * of the region out of service at once, for a trouble that all of them can live with. For the same reason it waits for the other
 * regions' counts only for a while (server.ts).
 */
import type { Stats } from "sluice";
import type { Directory } from "../admin/directory.ts";

export interface LayerState {
  readonly status: "ok" | "degraded" | "away" | "absent";
  readonly reason?: string;
}

export interface Readiness {
  readonly ready: boolean;
  /** Why not, where no layer says it. */
  readonly reason?: string;
  readonly layers: {
    /** Keys, namespaces, overrides. */
    readonly admin: LayerState;
    /** The origin: what the processes of the region share. */
    readonly region: LayerState;
    /** What the regions share. */
    readonly global: LayerState;
  };
}

/** The store is asked twice a second; ten silences are no accident. */
const ADMIN_STALE_MS = 5_000;
/** Imports come once a second. */
const IMPORT_STALE_MS = 10_000;
/** With a longer import interval, or in mode denials (10 s), the store is away after this many intervals without an import. */
const IMPORTS_MISSED = 3;

export interface Phase {
  /** The first import is not done, and the server still waits for it. */
  readonly isJoining: boolean;
  readonly isStopping: boolean;
  /** Why the last write failed; null if it did not. */
  readonly writeFailure?: string | null;
  /** How old keys and namespaces may be while their store cannot be read; null: any age. */
  readonly adminAgeMaxMs?: number | null;
}

export function readinessOf(stats: Stats, directory: Directory, phase: Phase): Readiness {
  const { isJoining, isStopping, writeFailure = null, adminAgeMaxMs = null } = phase;
  const isTooOld = adminAgeMaxMs !== null && directory.ageMs > adminAgeMaxMs;
  const layers = {
    admin: isTooOld && directory.isLoaded ? tooOld(directory) : adminOf(directory, writeFailure),
    region: regionOf(stats),
    global: globalOf(stats, isJoining),
  };
  return { ready: directory.isLoaded && directory.hasKeys && !isTooOld && !isJoining && !isStopping, layers };
}

function tooOld({ ageMs }: Directory): LayerState {
  const reason = `the store has not responded for ${seconds(ageMs)}, longer than admin.ageMax: requests get status 503`;
  return { status: "away", reason };
}

function adminOf({ isLoaded, hasKeys, ageMs, corrupt }: Directory, writeFailure: string | null): LayerState {
  if (!isLoaded) return { status: "away", reason: "the store of keys and namespaces has not been read yet" };
  if (!hasKeys) return { status: "degraded", reason: "no key exists yet" };
  if (ageMs <= ADMIN_STALE_MS) {
    if (writeFailure !== null) return { status: "degraded", reason: writeFailure };
    if (corrupt.length === 0) return { status: "ok" };
    const named = corrupt.slice(0, 3).join(", ") + (corrupt.length > 3 ? ", …" : "");
    return {
      status: "degraded",
      reason: `${corrupt.length === 1 ? "1 corrupt record is" : `${corrupt.length} corrupt records are`} ignored: ${named}`,
    };
  }
  return {
    status: "degraded",
    reason: `the store has not responded for ${seconds(ageMs)}: using the records read before`,
  };
}

function regionOf({ origin }: Stats): LayerState {
  if (origin === null) return { status: "absent", reason: "no Redis: this server limits alone" };
  const { breaker, store } = origin;
  if (store !== null && !store.isConnected) return { status: "away", reason: failureOf(store.lastFailure) };
  if (breaker === "closed") return { status: "ok" };
  return { status: "degraded", reason: `most calls fail (${failureOf(store?.lastFailure)}): deciding from memory` };
}

function globalOf({ global }: Stats, isJoining: boolean): LayerState {
  if (global === null) return { status: "absent", reason: "no SQL: this region limits alone" };
  const { store, importAgeMs, importEveryMs } = global;
  if (!global.isImported) {
    const why = failureOf(store?.lastFailure);
    if (isJoining) return { status: "degraded", reason: `waiting for the first import, at most 5 s (${why})` };
    return {
      status: "away",
      reason: `no import since the start ${seconds(importAgeMs)} ago (${why}): limiting per region`,
    };
  }
  if (importAgeMs > Math.max(IMPORT_STALE_MS, IMPORTS_MISSED * importEveryMs)) {
    const why = failureOf(store?.lastFailure);
    return { status: "away", reason: `no import from other regions for ${seconds(importAgeMs)} (${why})` };
  }
  if (store !== null && !store.isReady) return { status: "degraded", reason: "the tables have not been found yet" };
  const { aliases, regionConflict } = global;
  if (regionConflict !== null) return { status: "degraded", reason: regionConflict };
  if (aliases.length === 0) return { status: "ok" };
  return { status: "ok", reason: `renamed: rows of ${namesOf(aliases)} count as this region's own until they expire` };
}

function namesOf(names: readonly string[]): string {
  const shown = names.slice(0, 3).map((name) => JSON.stringify(name));
  return shown.join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
}

/** The kind alone: a driver's own words may name users and hosts. */
function failureOf(failure: { readonly kind: string } | null | undefined): string {
  return failure == null ? "no answer yet" : failure.kind;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
