/**
 * The stack: one engine with whatever layers its options name, put together and taken apart in one place.
 *
 * Without an origin, a global layer or a trace the engine stays bare.
 */
import type { Clock, Timers } from "../core/clock.ts";
import { backgroundTrace } from "../core/trace.ts";
import { Engine } from "../engine/engine.ts";
import { Layers } from "../engine/layers.ts";
import { Ledger } from "../engine/ledger.ts";
import { GlobalLayer } from "../global/global-layer.ts";
import { LIFE_PREFIX } from "../global/region-names.ts";
import { OriginIdentity } from "../origin/origin-identity.ts";
import { RegionalLayer } from "../origin/regional-layer.ts";
import { Housekeeping } from "./housekeeping.ts";
import type { Settings } from "./options.ts";

/** What could not be saved when a limiter closed. */
export interface CloseReport {
  /**
   * Accepted cost, of windows that still matter, that no store confirmed before the limiter closed; 0: nothing was lost. Which store
   * has to confirm it depends on the options:
   *
   * - an origin that outlives the process (Redis): the origin. What is not in the global store is not lost: the region's other
   *   processes, and the next one to start, read it from the origin.
   * - a global store and no origin: the global store, which then gets all counts, whatever the floor.
   * - a global store, and an origin in a process's memory (`memoryOrigin`, `sharedOrigin`): both.
   * - an origin in a process's memory, without a global store: that origin.
   * - neither: 0. Nothing is meant to outlive the process.
   *
   * Windows shorter than `globalDurationMin` are never in the global store: without an origin no store could have taken them, and they
   * are not part of `lost`. The same holds for all windows if `globalMode` is `"denials"`. Nor are counts that a full table evicted before
   * (`stats().cells.evicted`). A write without a response counts as lost, even if the store did take it.
   */
  readonly lost: number;
}

/** The global layer has at least this long to publish what is left, even if the origin took all of the time. */
const CLOSE_LEAST_MS = 100;
/** Requests that wait when a limiter closes are answered first, and the global layer has its own time. */
const STAY_MORE_MS = 1_000;

export class Stack {
  readonly engine: Engine;
  readonly regional: RegionalLayer | null = null;
  readonly global: GlobalLayer | null = null;
  readonly ledger: Ledger | null = null;
  readonly #housekeeping: Housekeeping;
  readonly closeTimeoutMs: number;
  /** Whether there is an origin whose counts outlive this process. */
  readonly #hasLastingOrigin: boolean;
  readonly #clock: Clock;
  readonly #timers: Timers;

  constructor(settings: Settings) {
    const { origin, global, trace, clock, timers, random } = settings;
    this.engine = new Engine(settings);
    this.#housekeeping = new Housekeeping(this.engine, timers);
    this.closeTimeoutMs = settings.closeTimeoutMs;
    this.#hasLastingOrigin = origin !== null && origin.isVolatile !== true;
    this.#clock = clock;
    this.#timers = timers;
    if (origin === null && global === null && trace === null) return;
    this.engine.seed();
    const publishes = global !== null && settings.globalMode !== "denials";
    const ledger = new Ledger(this.engine.table, random, { replays: origin !== null, publishes });
    this.ledger = ledger;
    const inBackground = { ...settings, trace: backgroundTrace(trace) };
    if (origin !== null) this.regional = new RegionalLayer(this.engine, ledger, origin, inBackground);
    if (global !== null) {
      const { region, globalMode, globalDurationMinMs, publishMs, importMs, floor, errorBudget } = settings;
      const { namespaceRowsMax, workspaceRowsMax } = settings;
      const identity = this.regional === null ? null : new OriginIdentity(this.regional.calls, clock, random);
      // Without an origin, a process shares its counts with nobody. Then, and with an origin in memory, they end with it.
      const prefix = this.#hasLastingOrigin ? "" : LIFE_PREFIX;
      const originId = async () => {
        const id = identity === null ? ledger.incarnation : await identity.readOnce();
        return id === null ? null : prefix + id;
      };
      const wasOriginEmpty = () => identity?.wasEmpty === true;
      const rhythm = { publishMs, importMs, durationMinMs: globalDurationMinMs, floor, errorBudget };
      this.global = new GlobalLayer(this.engine, ledger, global, {
        region,
        mode: globalMode,
        ...rhythm,
        namespaceRowsMax,
        workspaceRowsMax,
        originId,
        wasOriginEmpty,
        clock,
        timers,
        random,
        trace: inBackground.trace,
      });
    }
    const denials = settings.globalMode === "counters" ? undefined : this.global?.denials;
    const onDenial = denials === undefined ? null : denials.noteDenial.bind(denials);
    const layers = new Layers(this.engine, { ledger, gate: this.regional, onDenial, trace });
    this.engine.attach(layers);
    if (this.global !== null) {
      layers.awaitOthers(this.global.durationMinMs);
      this.global.onImported = () => layers.endAwaitOthers();
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
    const endMs = this.#clock.monoMs() + this.closeTimeoutMs;
    const unreplayed = (await this.regional?.close(this.closeTimeoutMs)) ?? 0;
    const leftMs = Math.max(CLOSE_LEAST_MS, endMs - this.#clock.monoMs());
    const isKept = this.#hasLastingOrigin && unreplayed === 0;
    const unpublished = (await this.global?.close(leftMs, isKept)) ?? 0;
    // A row does not make up for a lasting origin: rows merge by max, and other processes publish what the origin knows without it.
    return { lost: unreplayed + (this.#hasLastingOrigin ? 0 : unpublished) };
  }

  /**
   * Keeps the process alive until what it returns is called: nothing else may hold it when the origin is away, and it would end
   * in mid-close, as if all were well.
   */
  stayAlive(): () => void {
    if (this.regional === null && this.global === null) return () => {};
    const hold = this.#timers.set(() => {}, 2 * this.closeTimeoutMs + STAY_MORE_MS, true);
    return () => this.#timers.clear(hold);
  }
}
