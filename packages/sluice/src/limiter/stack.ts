/**
 * The stack: one engine with whatever layers its options name, put together and taken apart in one place.
 *
 * Without an origin, a global layer or a trace the engine stays bare.
 */
import type { Clock, Timers } from "../core/clock.ts";
import { backgroundTrace } from "../core/trace.ts";
import { Engine } from "../engine/engine.ts";
import { LayeredDecision } from "../engine/layered-decision.ts";
import { Ledger } from "../engine/ledger.ts";
import { GlobalLayer } from "../global/global-layer.ts";
import { OriginIdentity } from "../origin/origin-identity.ts";
import { RegionalLayer } from "../origin/regional-layer.ts";
import { Housekeeping } from "./housekeeping.ts";
import type { Settings } from "./options.ts";

/** What could not be saved when a limiter closed. */
export interface CloseReport {
  /** Cost that was accepted and has not reached the origin; 0: nothing was lost. */
  readonly lost: number;
}

/** The global layer has this long to say goodbye, also where the origin took all the time there was. */
const CLOSE_LEAST_MS = 100;
/** Requests that wait when a limiter closes are answered first, and the global layer has its own time. */
const STAY_MORE_MS = 1_000;

export class Stack {
  readonly engine: Engine;
  readonly regional: RegionalLayer | null = null;
  readonly global: GlobalLayer | null = null;
  readonly ledger: Ledger | null = null;
  readonly #housekeeping: Housekeeping;
  readonly #closeTimeoutMs: number;
  readonly #clock: Clock;
  readonly #timers: Timers;

  constructor(settings: Settings) {
    const { origin, global, trace, clock, timers, random } = settings;
    this.engine = new Engine(settings);
    this.#housekeeping = new Housekeeping(this.engine, timers);
    this.#closeTimeoutMs = settings.closeTimeoutMs;
    this.#clock = clock;
    this.#timers = timers;
    if (origin === null && global === null && trace === null) return;
    const ledger = new Ledger(this.engine.table, random, { replays: origin !== null, publishes: global !== null });
    this.ledger = ledger;
    const inBackground = { ...settings, trace: backgroundTrace(trace) };
    if (origin !== null) this.regional = new RegionalLayer(this.engine, ledger, origin, inBackground);
    if (global !== null) {
      const { region, globalMode, globalDurationMinMs, publishMs, importMs, floor, errorBudget } = settings;
      const identity = this.regional === null ? null : new OriginIdentity(this.regional.calls, clock, random);
      // Without an origin, a process is a region by itself.
      const originId = async () => (identity === null ? ledger.incarnation : identity.readOnce());
      const rhythm = { publishMs, importMs, durationMinMs: globalDurationMinMs, floor, errorBudget };
      this.global = new GlobalLayer(this.engine, ledger, global, {
        region,
        mode: globalMode,
        ...rhythm,
        originId,
        clock,
        timers,
        random,
        trace: inBackground.trace,
      });
    }
    const denials = settings.globalMode === "counters" ? undefined : this.global?.denials;
    const onDenial = denials === undefined ? null : denials.hear.bind(denials);
    const decisions = new LayeredDecision(this.engine, { ledger, gate: this.regional, onDenial, trace });
    this.engine.attach(decisions);
    if (this.global !== null) {
      decisions.awaitOthers(this.global.durationMinMs);
      this.global.onImported = () => decisions.hearOthers();
    }
    this.engine.clock.onFollow = () => {
      ledger.renewWriter();
      this.regional?.makeAllStale();
    };
    this.regional?.start();
    this.global?.start();
  }

  /** After a decision: must cost next to nothing. */
  wake(): void {
    this.#housekeeping.wake();
  }

  /** Whether the first import is done; resolves with false after `timeoutMs`, or if the stack closes before it. */
  async ready(timeoutMs: number): Promise<boolean> {
    return this.global?.imported(timeoutMs) ?? true;
  }

  /** Stops every timer, replays and publishes what is left. */
  async close(): Promise<CloseReport> {
    this.#housekeeping.stop();
    this.global?.stop();
    if (this.regional === null && this.global === null) return { lost: 0 };
    const endMs = this.#clock.monoMs() + this.#closeTimeoutMs;
    const lost = (await this.regional?.close(this.#closeTimeoutMs)) ?? 0;
    await this.global?.close(Math.max(CLOSE_LEAST_MS, endMs - this.#clock.monoMs()));
    return { lost };
  }

  /**
   * Keeps the process alive until what it returns is called: nothing else may hold it when the origin is away, and it would end
   * in mid-close, as if all were well.
   */
  stayAlive(): () => void {
    if (this.regional === null && this.global === null) return () => {};
    const hold = this.#timers.set(() => {}, 2 * this.#closeTimeoutMs + STAY_MORE_MS, true);
    return () => this.#timers.clear(hold);
  }
}
