/**
 * "Sometimes" marks: situations that must come up in a campaign, or it has not tried what it claims to have tried.
 *
 * Counted from the history alone, like everything the checker says. A mark says that a situation was met, never that
 * something is wrong.
 */
import type { DecisionEvent, GlobalEvent, OriginEvent } from "sluice";
import type { HistoryLine, WorldEvent } from "../model/history.ts";
import { ERROR_BUDGET_DEFAULT, publishFloor } from "../model/internals.ts";
import type { WorldOptions } from "../model/options.ts";
import { ADMIT_MARKS, type AdmitMark, AdmitMarks } from "./admit-marks.ts";
import { FEATURE_MARKS, type FeatureMark, FeatureMarks } from "./feature-marks.ts";
import { type CheckerPart, type Problem, placeOf } from "./part.ts";
import type { Truth } from "./truth.ts";

export type Mark =
  | "reply-lost-and-resent"
  | "component-behind"
  | "clean-cell-evicted"
  | "unreplayed-cell-kept"
  | "new-id-without-origin"
  | "breaker-opened"
  | "breaker-half-opened"
  | "breaker-closed"
  | "strict-allow"
  | "strict-denial"
  | "batch-refused"
  | "batch-names-a-cell-twice"
  | "publish-below-the-floor"
  | "clock-held"
  | "clock-followed"
  | "flush-after-the-window"
  | "rollover-without-a-read"
  | "origin-restored-older"
  | "stop-with-unreplayed-cost"
  | "kill-with-unreplayed-cost"
  | "excess-above-half-of-E"
  | "excess-above-half-of-E-in-calm"
  | "region-dead"
  | AdmitMark
  | FeatureMark;

/** What each mark stands for. */
export const MARKS: Readonly<Record<Mark, string>> = {
  "reply-lost-and-resent": "a raise was stored, its answer lost, and the total sent again and confirmed",
  "component-behind": "a read showed less of a process's own component than the origin had confirmed",
  "clean-cell-evicted": "a full table gave up a key whose counts were all replayed",
  "unreplayed-cell-kept": "a full table refused a new key rather than give up one with unreplayed cost",
  "new-id-without-origin": "an evicted key came back while the origin was away, and counted under a new id",
  "breaker-opened": "a breaker opened",
  "breaker-half-opened": "a breaker let one probe through",
  "breaker-closed": "a breaker closed again",
  "strict-allow": "a strict key was allowed after a read begun since its denial",
  "strict-denial": "a strict key that memory would have allowed was denied by what the read brought",
  "batch-refused": "an item that fits was refused with its batch",
  "batch-names-a-cell-twice": "a batch with one cell twice was counted",
  "publish-below-the-floor": "a count below the floor was published because another region had published its own",
  "clock-held": "a backward jump of up to 5 s was held",
  "clock-followed": "a larger backward jump was followed",
  "flush-after-the-window": "cost was confirmed by a flush begun after its window's end",
  "rollover-without-a-read": "the first allow of a new window needed no read",
  "origin-restored-older": "an origin went back to an older state",
  "stop-with-unreplayed-cost": "a process began to close with cost the origin had not confirmed",
  "kill-with-unreplayed-cost": "a process was killed with cost that its origin had not got",
  "excess-above-half-of-E": "an allow went over its limit by more than half of the bound (of a bound of at least 10)",
  "excess-above-half-of-E-in-calm": "the same in a world without faults, where E was less than all that was accepted",
  "region-dead": "every process of a region of several was dead at once",
  ...ADMIT_MARKS,
  ...FEATURE_MARKS,
};

export type MarkCounts = Record<Mark, number>;

export const MARK_NAMES: readonly Mark[] = Object.keys(MARKS) as Mark[];

export function noMarks(): MarkCounts {
  return Object.fromEntries(MARK_NAMES.map((mark) => [mark, 0])) as MarkCounts;
}

/** What a process was told about its component of a cell. */
interface Confirmed {
  writer: string;
  total: number;
  /** The highest total that was stored without an answer. */
  unanswered: number;
}

interface Denial {
  readonly monoMs: number;
}

export class Marks implements CheckerPart {
  readonly #features = new FeatureMarks();
  readonly #admits = new AdmitMarks();
  readonly #counts: MarkCounts = noMarks();
  #options: WorldOptions | undefined;
  #isSafety = false;
  readonly #confirmed = new Map<string, Confirmed>();
  readonly #read = new Set<string>();
  readonly #denials = new Map<string, Denial>();
  readonly #sequences = new Map<string, number>();
  readonly #running = new Map<string, { begun: number; alive: number }>();
  /** Held clocks per life so far. */
  readonly #held = new Map<string, number>();
  #batch = "";
  readonly #batchKeys = new Set<string>();

  get counts(): MarkCounts {
    return { ...this.#counts, ...this.#admits.counts, ...this.#features.counts };
  }

  check(line: HistoryLine, truth: Truth): Problem {
    const { atMs, process, event } = line;
    this.#features.check(line, truth);
    this.#admits.check(line, truth);
    switch (event.kind) {
      case "setup":
        this.#options = event.options;
        break;
      case "phase":
        this.#isSafety = event.phase === "safety";
        break;
      case "decision":
        this.#decision(process, event, truth);
        break;
      case "read":
      case "raise":
      case "admit":
        this.#origin(process, event, truth);
        break;
      case "publish":
        this.#publish(process, event, truth);
        break;
      default:
        this.#world(atMs, process, event, truth);
    }
    return undefined;
  }

  #decision(process: string, event: DecisionEvent, truth: Truth): void {
    const { key, sequence, reason, batch, source, degraded, isCounted, writer } = event;
    const name = `${process} ${key}`;
    const { hasOrigin } = this.#options!;
    if (reason === "full" && batch === 0 && hasOrigin) this.#counts["unreplayed-cell-kept"]++;
    if (reason === "batch") this.#counts["batch-refused"]++;
    if (batch !== 0 && isCounted) this.#counted(`${process} ${batch}`, key);
    const denial = this.#denials.get(name);
    const isStrict = denial !== undefined && event.monoMs - denial.monoMs < event.durationMs && source === "origin";
    if (isStrict && reason === "allowed" && !degraded) this.#counts["strict-allow"]++;
    if (isStrict && reason === "limit") this.#counts["strict-denial"]++;
    if (reason === "limit") this.#denials.set(name, { monoMs: event.monoMs });
    const isRolledOver = this.#sequences.get(name) === sequence - 1;
    if (isRolledOver && hasOrigin && reason === "allowed" && source === "local" && !degraded) {
      if (!this.#read.has(placeOf(process, key, sequence))) this.#counts["rollover-without-a-read"]++;
    }
    this.#sequences.set(name, sequence);
    const life = truth.life(process);
    if (!isCounted || !degraded || !hasOrigin || life.evicted === 0 || life.followed > 0) return;
    const earlier =
      truth.cell(key, sequence).current.get(process) ?? truth.cell(key, sequence - 1).current.get(process);
    if (earlier !== undefined && earlier !== writer) this.#counts["new-id-without-origin"]++;
  }

  #counted(batch: string, key: string): void {
    if (batch !== this.#batch) this.#batchKeys.clear();
    this.#batch = batch;
    if (this.#batchKeys.has(key)) this.#counts["batch-names-a-cell-twice"]++;
    this.#batchKeys.add(key);
  }

  #origin(process: string, event: OriginEvent, truth: Truth): void {
    const { kind, key, sequence, writer, total, component, isAnswered } = event;
    const place = placeOf(process, key, sequence);
    if (kind === "read" && isAnswered) this.#read.add(place);
    if (writer === "") return;
    let confirmed = this.#confirmed.get(place);
    if (confirmed?.writer !== writer) {
      confirmed = { writer, total: 0, unanswered: 0 };
      this.#confirmed.set(place, confirmed);
    }
    if (!isAnswered) {
      const stored = truth.cell(key, sequence).stored.get(truth.life(process).region)?.get(writer) ?? 0;
      if (kind === "raise" && total > confirmed.total && stored >= total) confirmed.unanswered = total;
      return;
    }
    if (component < confirmed.total) this.#counts["component-behind"]++;
    if (kind === "read") return;
    if (confirmed.unanswered > 0 && total >= confirmed.unanswered) {
      this.#counts["reply-lost-and-resent"]++;
      confirmed.unanswered = 0;
    }
    const beganWallMs = event.wallMs - (event.monoMs - event.beganMs);
    const endMs = (sequence + 1) * (truth.durations.get(key) ?? Number.POSITIVE_INFINITY);
    if (total > confirmed.total && beganWallMs >= endMs) this.#counts["flush-after-the-window"]++;
    confirmed.total = Math.max(confirmed.total, total);
  }

  #publish(process: string, { key, sequence, count }: GlobalEvent, truth: Truth): void {
    const { floor, regions } = this.#options!;
    const cell = truth.cell(key, sequence);
    const { region } = truth.life(process);
    const isBelow = count < (floor ?? publishFloor(regions, ERROR_BUDGET_DEFAULT)) * cell.limitMax;
    const isUsedElsewhere = [...cell.rows.keys()].some((name) => truth.originOf(name) !== region);
    if (isBelow && isUsedElsewhere && cell.rowsLostMs === Number.NEGATIVE_INFINITY)
      this.#counts["publish-below-the-floor"]++;
  }

  #world(atMs: number, process: string, event: WorldEvent | GlobalEvent | { kind: "import" }, truth: Truth): void {
    switch (event.kind) {
      case "alarm": {
        const { evicted, followed } = truth.life(process);
        this.#counts["clean-cell-evicted"] += event.evicted - evicted;
        this.#counts["clock-followed"] += event.followed - followed;
        break;
      }
      case "held":
        this.#counts["clock-held"] += event.held - (this.#held.get(process) ?? 0);
        this.#held.set(process, event.held);
        break;
      case "breaker":
        if (event.state === "open") this.#counts["breaker-opened"]++;
        else if (event.state === "probing") this.#counts["breaker-half-opened"]++;
        else this.#counts["breaker-closed"]++;
        break;
      case "fault":
        if (event.fault === "origin-rolled-back" && event.isOn) this.#counts["origin-restored-older"]++;
        break;
      case "begun":
        this.#lives(event.region, 1);
        break;
      case "stopping":
        if (event.unreplayed > 0) this.#counts["stop-with-unreplayed-cost"]++;
        break;
      case "killed":
        if (this.#options!.hasOrigin && truth.unstored(process, atMs) > 0) this.#counts["kill-with-unreplayed-cost"]++;
        this.#lives(truth.life(process).region, -1);
        break;
      case "stopped":
        this.#lives(truth.life(process).region, -1);
        break;
    }
  }

  #lives(region: string, change: 1 | -1): void {
    const { processes } = this.#options!;
    const running = this.#running.get(region) ?? { begun: 0, alive: 0 };
    this.#running.set(region, running);
    running.alive += change;
    if (change === 1) running.begun++;
    else if (this.#isSafety && processes > 1 && running.begun >= processes && running.alive === 0)
      this.#counts["region-dead"]++;
  }
}
