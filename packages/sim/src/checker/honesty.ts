/**
 * The invariants "Bounds" and "Honest": everything has a cap, an answer from memory does no I/O, and what a process counts of itself is what
 * the history shows it did.
 *
 * The one figure that cannot be told to the unit is `degraded`: a decision without a record is flagged degraded for want of
 * room, and a history does not show whether a read was missing as well.
 */
import type { DecisionEvent, OriginEvent } from "sluice";
import type { Gauges, HistoryLine, WorldEvent } from "../model/history.ts";
import { NAME_SHARE_BYTES, nameBytes } from "../model/internals.ts";
import type { WorldOptions } from "../model/options.ts";
import type { CheckerPart, Problem } from "./part.ts";

type Counted = Omit<
  Gauges,
  "kind" | "cellsLive" | "cellsMax" | "nameBytes" | "unreplayed" | "unpublished" | "readsInFlight" | "admitsInFlight"
>;
type Count = keyof Omit<Counted, "degraded" | "originCalls" | "originMessages">;
type Answer = Extract<WorldEvent, { kind: "answer" }>;

/** A copy of the library's constant: denial rows that wait to be written. */
const PENDING_MAX = 10_000;

/** What one life did, as the history shows it. */
type Deeds = Record<Count, number> & { degraded: number };

const COUNTS: readonly Count[] = [
  "allowed",
  "deniedLimit",
  "deniedCost",
  "deniedFull",
  "deniedBatch",
  "unrecorded",
  "rowsPublished",
  "cellsImported",
  "denialsEmitted",
  "denialsInflated",
];

export class Honesty implements CheckerPart {
  readonly #deeds = new Map<string, Deeds>();
  /** The last read of each key that came to an end, monotonic clock. */
  readonly #reads = new Map<string, { readonly beganMs: number; readonly settledMs: number }>();
  #options: WorldOptions | undefined;

  check({ process, event }: HistoryLine): Problem {
    switch (event.kind) {
      case "setup":
        this.#options = event.options;
        return undefined;
      case "decision":
        decided(this.#of(process), event);
        return undefined;
      case "publish":
        this.#of(process).rowsPublished++;
        return undefined;
      case "import":
        this.#of(process).cellsImported++;
        return undefined;
      case "denial":
        this.#of(process).denialsEmitted++;
        return undefined;
      case "inflate":
        this.#of(process).denialsInflated++;
        return undefined;
      case "read":
        return this.#single(process, event);
      case "answer":
        return memoryOnly(event);
      case "gauges":
        return bounds(event, this.#options!) ?? this.#honest(process, event);
      default:
        return undefined;
    }
  }

  #honest(process: string, event: Gauges): Problem {
    const deeds = this.#of(process);
    for (const count of COUNTS) {
      if (event[count] !== deeds[count])
        return `honesty: ${count} is reported as ${event[count]}, and was ${deeds[count]}`;
    }
    if (event.degraded < deeds.degraded || event.degraded > deeds.degraded + deeds.unrecorded) {
      return `honesty: degraded is reported as ${event.degraded}, and was ${deeds.degraded}`;
    }
    if (event.originCalls === event.originMessages) return undefined;
    return `honesty: ${event.originCalls} calls to the origin are reported, ${event.originMessages} were made`;
  }

  /** Bounds: one read of a key at a time, whoever waits for it. */
  #single(process: string, { key, beganMs, monoMs }: OriginEvent): Problem {
    const name = `${process} ${key}`;
    const last = this.#reads.get(name);
    this.#reads.set(name, { beganMs, settledMs: monoMs });
    // The two cells of one read are told one after the other.
    if (last === undefined || beganMs === last.beganMs || beganMs >= last.settledMs) return undefined;
    return `bounds: a read of ${key} began while another was under way`;
  }

  #of(process: string): Deeds {
    let deeds = this.#deeds.get(process);
    if (deeds === undefined) {
      deeds = { ...(Object.fromEntries(COUNTS.map((count) => [count, 0])) as Record<Count, number>), degraded: 0 };
      this.#deeds.set(process, deeds);
    }
    return deeds;
  }
}

function decided(deeds: Deeds, { reason, success, degraded }: DecisionEvent): void {
  if (reason === "allowed") deeds.allowed++;
  else if (reason === "limit") deeds.deniedLimit++;
  else if (reason === "cost") deeds.deniedCost++;
  else if (reason === "batch") deeds.deniedBatch++;
  else if (reason === "full") {
    deeds.unrecorded++;
    if (success) deeds.allowed++;
    else deeds.deniedFull++;
  }
  if (degraded && reason !== "full") deeds.degraded++;
}

/** Bounds: one slot per key, marks only on slots, and one read of a key at a time. */
function bounds(event: Gauges, { keys, cellsMax, globalMode }: WorldOptions): Problem {
  const { cellsLive, unreplayed, unpublished, readsInFlight, admitsInFlight } = event;
  if (event.cellsMax !== cellsMax || cellsLive > cellsMax) return `bounds: ${cellsLive} cells of ${cellsMax}`;
  const names = keys.map((key) => nameBytes(key));
  if (event.nameBytes >= cellsMax * NAME_SHARE_BYTES + Math.max(...names))
    return `bounds: ${event.nameBytes} bytes of names`;
  if (unreplayed > cellsLive) return `bounds: ${unreplayed} unreplayed keys of ${cellsLive}`;
  // With denials alone, what waits is a row: it outlives the slot of its key.
  if (unpublished > (globalMode === "denials" ? PENDING_MAX : cellsLive))
    return `bounds: ${unpublished} unpublished keys of ${cellsLive}`;
  if (admitsInFlight > cellsLive) return `bounds: admits of ${admitsInFlight} keys of ${cellsLive}`;
  return readsInFlight <= keys.length ? undefined : `bounds: ${readsInFlight} reads of ${keys.length} keys`;
}

/** Bounds: what is answered at once is answered from memory: a denial above all, as no read could turn it into an allow. */
function memoryOnly({ sent, reason }: Answer): Problem {
  return sent === 0 ? undefined : `bounds: ${sent} messages sent for an answer from memory (${reason})`;
}
