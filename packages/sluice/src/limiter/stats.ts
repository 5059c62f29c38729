/** Counters and gauges of a limiter: the numbers that metrics export. */
import type { LatencySummary } from "../core/latency.ts";
import type { CountersHealth } from "../global/counters.ts";
import type { GlobalLayer, GlobalMode } from "../global/global-layer.ts";
import type { OverAdmission } from "../global/over-admission.ts";
import type { OriginHealth } from "../origin/origin.ts";
import type { RegionalLayer } from "../origin/regional-layer.ts";
import type { Reservations } from "./reservations.ts";
import type { Stack } from "./stack.ts";

export interface Stats {
  /** Decisions since the start, by outcome. An item of a batch counts as one. */
  readonly decisions: {
    readonly allowed: number;
    readonly denied: {
      readonly limit: number;
      readonly cost: number;
      /** Refused by `whenFull: "deny"`. */
      readonly full: number;
      /** Items that would have been allowed alone, in a batch that was denied. */
      readonly batch: number;
      /** Takes that gave up: they did not fit in time, or too many waited already. */
      readonly timeout: number;
      readonly waiters: number;
      /** Requests that had no room beside the reservations of their key. Reservations that were denied are not among them. */
      readonly reserved: number;
    };
    /** Charges, and those that left their key above its limit. They are neither allowed nor denied. */
    readonly charged: number;
    readonly overdrawn: number;
    /** Decided or charged without recording the cost, because the table was full. */
    readonly unrecorded: number;
    /** Allowed from memory although a read of the origin was required, or before the first import. */
    readonly degraded: number;
  };
  readonly cells: {
    /** Keys in memory now, and their maximum. */
    readonly live: number;
    readonly max: number;
    /** Keys forgotten because their windows were over. */
    readonly expired: number;
    /** Keys forgotten because the table, or the memory for names, was full. */
    readonly evicted: number;
    /**
     * Memory of the key names, and its maximum: 320 bytes for each of `max`. 0 and 0 without an origin and a global
     * layer, because then no names are kept.
     */
    readonly nameBytes: number;
    readonly nameBytesMax: number;
    /** What names of more than 320 bytes take beyond those, and the most that they may: 80 bytes for each of `max`. */
    readonly nameExcessBytes: number;
    readonly nameExcessBytesMax: number;
  };
  readonly clock: {
    /** Backward jumps of up to 5 s: after each, time ran at half speed until the wall clock had caught up. */
    readonly held: number;
    /** Larger backward jumps, which were followed. */
    readonly followed: number;
  };
  readonly reservations: ReservationStats;
  /** The regional layer; null without an origin. */
  readonly origin: OriginStats | null;
  /** The global layer; null without one. */
  readonly global: GlobalStats | null;
}

export interface ReservationStats {
  /** Whether reservations are shared by the processes of the region. If not, each process holds its own in memory. */
  readonly isAtOrigin: boolean;
  /** Reservations of this process that are open. */
  readonly open: number;
  /** Granted, and of these the ones held in memory because the origin did not answer; denied. */
  readonly reserved: number;
  readonly degraded: number;
  readonly refused: number;
  /** Settled, and of these the ones after their deadline; released. */
  readonly settled: number;
  readonly late: number;
  readonly released: number;
  /** Holds that an automatic renewal found to be over. */
  readonly lost: number;
  /** Settlements and releases that the origin has not answered yet, and those that were given up. */
  readonly pending: number;
  readonly dropped: number;
}

export interface OriginStats {
  readonly breaker: "closed" | "open" | "probing";
  readonly breakerOpened: number;
  /** Calls made, and those that failed, timed out, or returned invalid data. */
  readonly reads: number;
  readonly raises: number;
  /** Calls that made, enlarged or looked at holds of reservations, and calls that ended or renewed them. */
  readonly holds: number;
  readonly frees: number;
  readonly admits: number;
  readonly failed: number;
  readonly late: number;
  readonly junk: number;
  /** Cells that the origin could not return although others of the same call succeeded: a node of a Cluster was unavailable. */
  readonly unknown: number;
  readonly readsInFlight: number;
  /** Keys whose requests wait for an admit. */
  readonly admitsInFlight: number;
  /** Keys whose cost the origin has not confirmed. */
  readonly unreplayed: number;
  /** How often the origin had lost confirmed counts as a whole, and how many single cells it had lost. */
  readonly losses: number;
  readonly healed: number;
  /** Evicted strict keys whose deadline was dropped early because the list of such keys was full. */
  readonly strictDropped: number;
  /** Upper bound of how long any cost has waited for the confirmation of the origin; 0 if none waits. */
  readonly oldestUnreplayedMs: number;
  /** Latency of calls, including failed ones. */
  readonly latency: { readonly read: LatencySummary; readonly raise: LatencySummary; readonly admit: LatencySummary };
  /** Connection state and failure counts of the store; null for one in this process's memory. */
  readonly store: OriginHealth | null;
}

/** The denial channel. In mode `counters` it does nothing. */
export interface DenialStats {
  /** Rows written. */
  readonly emitted: number;
  /** Rows that were not written: the store failed, its breaker was open, or too many waited. */
  readonly dropped: number;
  /** Cells raised by other regions' rows. */
  readonly inflated: number;
  /** Rows waiting to be written. */
  readonly waiting: number;
  /** Failed writes of batches, and failed reads. */
  readonly writesFailed: number;
  readonly readsFailed: number;
  /** Time since rows were last written; null if none were. */
  readonly writeAgeMs: number | null;
  /** Time since the rows of other regions were last read, or since the start; null in mode `counters`. */
  readonly readAgeMs: number | null;
  /** The breaker around writes. */
  readonly breaker: "closed" | "open" | "probing";
  readonly breakerOpened: number;
}

export interface GlobalStats {
  readonly mode: GlobalMode;
  /** Whether the first import is done. Until then, allows in windows that the regions share are `degraded`. */
  readonly isImported: boolean;
  readonly regionsLive: number;
  /** Other region names of this region's origin whose rows may still be alive: after the region was renamed. Empty normally. */
  readonly aliases: readonly string[];
  /**
   * Cells of which the region had published a count although its origin was empty when this process started: the region was stopped
   * and its origin lost its data. New counts of the region's other processes hide behind those rows until they exceed them. 0 normally.
   */
  readonly cellsBehind: number;
  /** A conflict of region names, and what to do about it; null if there is none. */
  readonly regionConflict: string | null;
  /** The part of a limit up to which counts are not published now. */
  readonly floor: number;
  readonly rowsPublished: number;
  /** The row budget (`namespaceRowsMax`, `workspaceRowsMax`). */
  readonly rows: {
    /** Rows of this region that the store holds, of counts and denials: the last full pass, and what this process added since. */
    readonly stored: number;
    /** How often a new row was not published because its namespace or workspace had reached its maximum. */
    readonly refused: number;
    /** Namespaces and workspaces that have reached their maximum of rows. */
    readonly full: number;
  };
  readonly cellsImported: number;
  readonly publishesFailed: number;
  readonly importsFailed: number;
  readonly roundsFailed: number;
  /** Invalid rows of the global store, which were ignored. */
  readonly junk: number;
  /**
   * Time since this region last published its counts, or since the start. In mode `denials`, time since all denials were last
   * written.
   */
  readonly publishAgeMs: number;
  /**
   * Time since the counts of the other regions were last imported, or since the start. In mode `denials`, time since their denials
   * were last read.
   */
  readonly importAgeMs: number;
  /** How often the other regions are read: `importMs`, or 10 s in mode `denials`. */
  readonly importEveryMs: number;
  /**
   * Keys that the next publish examines: their count has risen since the last one, or the store refused their row. A key whose
   * count was examined and stays below the floor is not among them. Normally at most what changes between two publishes; a number
   * that keeps growing means that the store accepts no writes. In mode `denials`, rows waiting to be written.
   */
  readonly unpublished: number;
  readonly denials: DenialStats;
  /** By namespace: how far finished windows exceeded their limits, in all regions together. */
  readonly overAdmission: Readonly<Record<string, OverAdmission>>;
  /** Failure counts of the store; null for one in this process's memory. */
  readonly store: CountersHealth | null;
}

export function readStats({ engine, regional, global, ledger }: Stack, reservations: Reservations): Stats {
  const { tally, table, clock } = engine;
  return {
    decisions: {
      allowed: tally.read("allowed"),
      denied: {
        limit: tally.read("deniedLimit"),
        cost: tally.read("deniedCost"),
        full: tally.read("deniedFull"),
        batch: tally.read("deniedBatch"),
        timeout: tally.read("deniedTimeout"),
        waiters: tally.read("deniedWaiters"),
        reserved: tally.read("deniedReserved"),
      },
      charged: tally.read("charged"),
      overdrawn: tally.read("overdrawn"),
      unrecorded: tally.read("unrecorded"),
      degraded: tally.read("degraded"),
    },
    cells: {
      live: table.size,
      max: table.capacity,
      expired: tally.read("expired"),
      evicted: tally.read("evicted"),
      nameBytes: ledger?.budget.bytes ?? 0,
      nameBytesMax: ledger?.budget.bytesMax ?? 0,
      nameExcessBytes: ledger?.budget.excess ?? 0,
      nameExcessBytesMax: ledger?.budget.excessMax ?? 0,
    },
    clock: { held: clock.held, followed: clock.followed },
    reservations: {
      isAtOrigin: reservations.isAtOrigin,
      open: reservations.open,
      ...reservations.tally,
      pending: regional?.holds?.pending.size ?? 0,
      dropped: regional?.holds?.pending.lost ?? 0,
    },
    origin:
      regional === null ? null : readOrigin(regional, ledger?.unreplayed.size ?? 0, engine.strictDeadlines.dropped),
    global: global === null ? null : readGlobal(global, ledger?.unpublished.size ?? 0),
  };
}

function readOrigin(
  { calls, refresh, admission, replay, merge }: RegionalLayer,
  unreplayed: number,
  strictDropped: number,
): OriginStats {
  return {
    breaker: calls.breaker.state,
    breakerOpened: calls.breaker.opened,
    ...calls.tally,
    readsInFlight: refresh.inFlight,
    admitsInFlight: admission?.inFlight ?? 0,
    unreplayed,
    losses: replay.losses,
    healed: merge.healed,
    strictDropped,
    oldestUnreplayedMs: unreplayed === 0 ? 0 : replay.unconfirmedForMs,
    latency: {
      read: calls.latency.read.read(),
      raise: calls.latency.raise.read(),
      admit: calls.latency.admit.read(),
    },
    store: calls.health,
  };
}

function readGlobal(layer: GlobalLayer, unpublished: number): GlobalStats {
  const { publish, import: imports, denials, failed, floor, budgets } = layer;
  return {
    mode: layer.mode,
    isImported: layer.isImported,
    regionsLive: imports.regionsLive,
    aliases: layer.aliases,
    cellsBehind: layer.cellsBehind,
    regionConflict: layer.conflict,
    floor,
    rowsPublished: publish.rows,
    rows: {
      stored: budgets.counts.rows + budgets.denials.rows,
      refused: budgets.counts.refused + budgets.denials.refused,
      full: budgets.counts.full + budgets.denials.full,
    },
    cellsImported: imports.cells,
    publishesFailed: publish.failed,
    importsFailed: imports.failed,
    roundsFailed: failed,
    junk: imports.junk + denials.junk,
    publishAgeMs: layer.publishAgeMs,
    importAgeMs: layer.importAgeMs,
    importEveryMs: layer.importEveryMs,
    unpublished: layer.mode === "denials" ? denials.waiting : unpublished,
    denials: readDenials(layer),
    overAdmission: imports.overAdmissions.read(),
    store: layer.health,
  };
}

function readDenials({ denials, mode }: GlobalLayer): DenialStats {
  const { emitted, dropped, inflated, waiting, writesFailed, readsFailed, writeAgeMs, readAgeMs, breaker } = denials;
  return {
    emitted,
    dropped,
    inflated,
    waiting,
    writesFailed,
    readsFailed,
    writeAgeMs,
    readAgeMs: mode === "counters" ? null : readAgeMs,
    breaker: breaker.state,
    breakerOpened: breaker.opened,
  };
}
