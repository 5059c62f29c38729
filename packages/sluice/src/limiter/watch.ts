/**
 * The watch: observes a stack, and reports events (events.ts).
 *
 * Changes of state come by themselves, from where they happen. What is counted on the way of a decision or of a call (degraded
 * decisions, failures, junk) is compared once a second: nothing is added to those ways. Exists only where somebody listens.
 */
import type { Breaker } from "../core/breaker.ts";
import type { Clock, Timers } from "../core/clock.ts";
import { Repeat } from "../core/repeat.ts";
import type { GlobalLayer } from "../global/global-layer.ts";
import { ConnectionNews } from "./connection-news.ts";
import { EventDesk, type EventListener } from "./events.ts";
import type { Stack } from "./stack.ts";

const LOOK_MS = 1_000;
/** A continuing condition is reported again at this interval, with the increase since the last report. */
const AGAIN_MS = 10_000;

/** How much of a growing count was reported, and when. */
interface Meter {
  reported: number;
  reportedMs: number;
}

/** A failed probe leaves the breaker open, so it is not reported. */
function reportBreaker(breaker: Breaker, layer: "origin" | "denials", desk: EventDesk): void {
  let before = breaker.state;
  breaker.onChange = (state) => {
    if (state !== "open" || before === "closed") desk.report({ kind: "breaker", layer, state });
    before = state;
  };
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export class Watch {
  readonly #stack: Stack;
  readonly #desk: EventDesk;
  readonly #clock: Clock;
  readonly #meters = new Map<string, Meter>();
  readonly #failuresReported = new Map<string, number>();
  /** Since when decisions are degraded, how many there were by then, and by the last look. */
  #degraded: { readonly sinceMs: number; readonly before: number } | null = null;
  #degradedSeen = 0;
  /** When calls to the global store were first and last seen to fail. */
  #globalTrouble: { readonly sinceMs: number; readonly lastMs: number } | null = null;
  #globalFailed = 0;
  readonly #repeat: Repeat;
  readonly #unlisten: (() => void) | undefined;

  constructor(stack: Stack, listener: EventListener, clock: Clock, timers: Timers) {
    this.#stack = stack;
    this.#clock = clock;
    this.#repeat = new Repeat(
      timers,
      () => this.#lookOnTime(),
      () => LOOK_MS,
    );
    const desk = new EventDesk(listener, clock, timers);
    this.#desk = desk;
    const { engine, regional, global } = stack;
    const follow = engine.clock.onFollow;
    engine.clock.onFollow = (backMs) => {
      follow(backMs);
      desk.report({ kind: "clock", backMs });
    };
    if (regional !== null) {
      reportBreaker(regional.calls.breaker, "origin", desk);
      regional.replay.onLoss = (keys) => desk.report({ kind: "lost", layer: "origin", keys });
      const news = new ConnectionNews();
      this.#unlisten = regional.calls.listen((event) => {
        if (!news.note(event)) return;
        const place = { kind: "connection", layer: "origin", address: event.address } as const;
        if (event.kind === "connected") {
          // Failures of an outage are reported before its end: a warning after it would look like a new one.
          try {
            this.#lookAtOriginFailures(true);
          } catch {
            // A store's `health` has failed, which must not hide that it is there again.
          }
          desk.report({ ...place, state: "up" });
        } else {
          desk.report({ ...place, state: "down", failure: event.failure, message: event.message });
        }
      });
    }
    if (global !== null) reportBreaker(global.denials.breaker, "denials", desk);
    this.#repeat.start();
  }

  /** One look at what is only counted. */
  lookOnce(isLast = false): void {
    const { engine, regional, global } = this.#stack;
    this.#lookAtDegraded(engine.tally.read("degraded"), isLast);
    this.#look("full", engine.tally.read("unrecorded"), isLast, (decisions) =>
      this.#desk.report({ kind: "full", decisions }),
    );
    if (regional !== null) {
      const { calls, merge } = regional;
      this.#look("healed", merge.healed, isLast, (cells) =>
        this.#desk.report({ kind: "healed", layer: "origin", cells }),
      );
      this.#lookAtJunk("origin", calls.tally.junk, isLast);
      this.#lookAtOriginFailures(isLast);
    }
    if (global !== null) {
      this.#look("emptied", global.cellsBehind, isLast, (cells) =>
        this.#desk.report({ kind: "emptied", layer: "origin", cells }),
      );
      const { counts, denials: denied } = global.budgets;
      this.#look("rows", counts.refused + denied.refused, isLast, (refused) => {
        const { workspace, namespace } = (counts.refusedKey ?? denied.refusedKey)!;
        this.#desk.report({ kind: "rows", layer: "global", refused, workspace, namespace });
      });
      const { import: imports, denials, health, failed } = global;
      this.#lookAtJunk("global", imports.junk + denials.junk + (health?.junk ?? 0), isLast);
      // A failed write of the denial channel is not a failed round: its rows are dropped.
      const known = health ?? { failures: { failed: failed + denials.writesFailed }, lastFailure: null };
      const hasRecovered = this.#hasRecovered(global, sumOf(known.failures));
      this.#lookAtFailures("global", known, isLast || hasRecovered);
      if (hasRecovered) this.#reportRecovery();
    }
    this.#desk.reportLatest();
  }

  /** Reports what is left, and that the limiter has closed. */
  close(lost: number): void {
    this.#repeat.stop();
    this.#unlisten?.();
    this.lookOnce(true);
    this.#desk.report({ kind: "closed", lost });
    this.#desk.close();
  }

  #lookOnTime(): void {
    try {
      this.lookOnce();
    } catch {
      // A clock or a store's `health` has failed. An error in a timer would end the process, so it is dropped. The next look is in a
      // second.
    }
  }

  #lookAtDegraded(decisions: number, isLast: boolean): void {
    const isGrowing = decisions > this.#degradedSeen;
    const nowMs = this.#clock.monoMs();
    if (isGrowing && this.#degraded === null) {
      this.#degraded = { sinceMs: nowMs, before: this.#degradedSeen };
      this.#desk.report({ kind: "degraded", state: "began" });
    }
    // No traffic does not mean that the outage is over.
    if (this.#degraded !== null && (isLast || (!isGrowing && this.#isOriginThere() && this.#isImported()))) {
      const { sinceMs, before } = this.#degraded;
      this.#degraded = null;
      this.#desk.report({ kind: "degraded", state: "ended", decisions: decisions - before, forMs: nowMs - sinceMs });
    }
    this.#degradedSeen = decisions;
  }

  #isOriginThere(): boolean {
    const calls = this.#stack.regional?.calls;
    return calls === undefined || (calls.breaker.state === "closed" && calls.health?.isConnected !== false);
  }

  #isImported(): boolean {
    return this.#stack.global?.isImported !== false;
  }

  /** Whether every part of the layer has worked since something last failed. */
  #hasRecovered({ silentMs }: GlobalLayer, failed: number): boolean {
    const nowMs = this.#clock.monoMs();
    if (failed > this.#globalFailed) {
      this.#globalFailed = failed;
      this.#globalTrouble = { sinceMs: this.#globalTrouble?.sinceMs ?? nowMs, lastMs: nowMs };
    }
    const trouble = this.#globalTrouble;
    return trouble !== null && silentMs < nowMs - trouble.lastMs;
  }

  #reportRecovery(): void {
    const forMs = Math.round(this.#clock.monoMs() - (this.#globalTrouble?.sinceMs ?? 0));
    this.#globalTrouble = null;
    this.#desk.report({ kind: "recovered", layer: "global", forMs });
  }

  #lookAtJunk(layer: "origin" | "global", count: number, isLast: boolean): void {
    this.#look(`junk/${layer}`, count, isLast, (added) => this.#desk.report({ kind: "junk", layer, count: added }));
  }

  #lookAtOriginFailures(isLast: boolean): void {
    const calls = this.#stack.regional?.calls;
    if (calls === undefined) return;
    // A store in this process's memory has no kinds of failure, and no words for them.
    const { failed, late } = calls.tally;
    this.#lookAtFailures("origin", calls.health ?? { failures: { failed, late }, lastFailure: null }, isLast);
  }

  #lookAtFailures(
    layer: "origin" | "global",
    { failures, lastFailure }: { failures: Readonly<Record<string, number>>; lastFailure: { message: string } | null },
    isLast: boolean,
  ): void {
    this.#look(`failures/${layer}`, sumOf(failures), isLast, () => {
      const added: Record<string, number> = {};
      for (const [kind, count] of Object.entries(failures)) {
        const reported = this.#failuresReported.get(`${layer}/${kind}`) ?? 0;
        if (count > reported) added[kind] = count - reported;
        this.#failuresReported.set(`${layer}/${kind}`, count);
      }
      this.#desk.report({ kind: "failures", layer, failures: added, message: lastFailure?.message ?? "" });
    });
  }

  /** Reports the increase of a count, at most once per AGAIN_MS. */
  #look(name: string, count: number, isLast: boolean, report: (added: number) => void): void {
    const meter = this.#meters.get(name) ?? { reported: 0, reportedMs: Number.NEGATIVE_INFINITY };
    this.#meters.set(name, meter);
    const nowMs = this.#clock.monoMs();
    if (count === meter.reported || (!isLast && nowMs - meter.reportedMs < AGAIN_MS)) return;
    report(count - meter.reported);
    meter.reported = count;
    meter.reportedMs = nowMs;
  }
}
