/**
 * Stores that can be troubled: they fail, stall, lose replies and lose data when told to, and remember every call. In memory, or real
 * ones underneath.
 */
import {
  type Admit,
  type Admitted,
  type CounterRow,
  type Counters,
  type DenialRow,
  type Denials,
  type ImportPage,
  memoryCounters,
  memoryOrigin,
  type Origin,
  type OriginCount,
  type Raise,
  type Read,
  type Registration,
} from "sluice";
import type { ManualTime } from "./manual-time.ts";

/**
 * - `failing`: every call is refused, and does nothing
 * - `deaf`: calls are done, but their replies are lost
 * - `stalled`: calls wait until the trouble is over, then are done
 */
export type Trouble = "none" | "failing" | "deaf" | "stalled";

class StoreAway extends Error {
  override readonly name = "StoreAway";
}

/** A store has a clock of its own: a process's that jumps does not move it. */
function serverClock(time: ManualTime): { wallMs(): number } {
  return { wallMs: () => time.trueMs };
}

/** What stands behind an origin, and how it loses everything. */
export interface OriginStore {
  readonly origin: Origin;
  empty(): Promise<void>;
}

function storeInMemory(time: ManualTime): OriginStore {
  const make = () => memoryOrigin({ clock: serverClock(time) });
  let origin = make();
  return {
    get origin() {
      return origin;
    },
    empty: async () => {
      origin = make();
    },
  };
}

/** What all calls of a store pass through. */
class Line {
  trouble: Trouble = "none";
  #waiting: (() => void)[] = [];
  /** What the store has been asked and has not answered. */
  readonly #running = new Set<Promise<unknown>>();

  /** Resolves once the store has answered everything; undefined if it has. */
  idle(): Promise<unknown> | undefined {
    return this.#running.size === 0 ? undefined : Promise.allSettled(this.#running);
  }

  async call<T>(run: () => Promise<T>): Promise<T> {
    const { trouble } = this;
    if (trouble === "failing") throw new StoreAway("refused");
    if (trouble === "stalled") await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const running = run();
    this.#running.add(running);
    const answer = await running.finally(() => this.#running.delete(running));
    if (trouble === "deaf") throw new StoreAway("no reply");
    return answer;
  }

  end(): void {
    this.trouble = "none";
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export class TroubledOrigin implements Origin {
  /** The flushes. */
  readonly raises: (readonly Raise[])[] = [];
  /** The refreshes: all cells that were asked about at once, by a read, by a raise that is answered the same, or by an admit. */
  readonly reads: Read[][] = [];
  readonly admits: (readonly Admit[])[] = [];
  /** Whether it knows when its store restarts. If not, flushes raise what admits have counted. */
  knowsLife = false;
  #life = 0;
  /** The refresh that was begun in this turn: a raise may go along with its read, before or after it. */
  #begun: { readonly cells: Read[]; hasRead: boolean } | undefined;
  closed = 0;
  /** If the store can. Troubled like reads: requests wait for both. */
  readonly admit?: (admits: readonly Admit[]) => Promise<readonly Admitted[]>;
  readonly #time: ManualTime;
  readonly #onRead = new Line();
  readonly #onRaise = new Line();
  readonly #store: OriginStore;

  constructor(time: ManualTime, store: OriginStore = storeInMemory(time)) {
    this.#time = time;
    this.#store = store;
    if (store.origin.admit !== undefined) this.admit = (admits) => this.#admit(admits);
    time.waits.push(
      () => this.#onRead.idle(),
      () => this.#onRaise.idle(),
    );
  }

  raise(raises: readonly Raise[]): Promise<readonly OriginCount[]> {
    if (raises.some(({ key }) => key.startsWith("heartbeat"))) {
      this.raises.push(raises);
      return this.#onRaise.call(() => this.#store.origin.raise(raises));
    }
    this.#refresh(raises, false);
    return this.#onRead.call(() => this.#store.origin.raise(raises));
  }

  read(reads: readonly Read[]): Promise<readonly OriginCount[]> {
    this.#refresh(reads, true);
    return this.#onRead.call(() => this.#store.origin.read(reads));
  }

  #admit(admits: readonly Admit[]): Promise<readonly Admitted[]> {
    this.admits.push(admits);
    this.reads.push(
      admits.flatMap(({ key, sequence, writer }) => [
        { key, sequence, writer },
        { key, sequence: sequence - 1, writer },
      ]),
    );
    return this.#onRead.call(() => this.#store.origin.admit!(admits));
  }

  life(): number | undefined {
    return this.knowsLife ? this.#life : undefined;
  }

  #refresh(asked: readonly Read[], isRead: boolean): void {
    const cells = asked.map(({ key, sequence, writer }) => ({ key, sequence, writer }));
    const begun = this.#begun;
    const isSame = begun?.cells.some(({ key }) => key === cells[0]?.key) === true && !(isRead && begun.hasRead);
    if (begun !== undefined && isSame) {
      begun.hasRead ||= isRead;
      const isNew = (cell: Read) =>
        !begun.cells.some(({ key, sequence }) => key === cell.key && sequence === cell.sequence);
      begun.cells.push(...cells.filter(isNew));
      return;
    }
    this.#begun = { cells, hasRead: isRead };
    this.reads.push(cells);
    queueMicrotask(() => {
      this.#begun = undefined;
    });
  }

  async close(): Promise<void> {
    this.closed++;
  }

  /** Troubles the refreshes (`reads`), the flushes (`raises`), or all calls. */
  trouble(trouble: Trouble, calls: "reads" | "raises" | "all" = "all"): void {
    if (calls !== "raises") this.#onRead.trouble = trouble;
    if (calls !== "reads") this.#onRaise.trouble = trouble;
  }

  /** Ends all trouble; what was stalled goes on. */
  heal(): void {
    this.#onRead.end();
    this.#onRaise.end();
  }

  /** Restarts empty. */
  lose(): Promise<void> {
    this.#life++;
    return this.#store.empty();
  }

  /** Is emptied while its connections stay open. */
  flush(): Promise<void> {
    return this.#store.empty();
  }

  /** What it holds of a cell, asked past all trouble and not remembered. */
  async sum(key: string, sequence: number): Promise<number> {
    return (await this.#store.origin.read([{ key, sequence, writer: "" }]))[0]!.sum;
  }

  async component(key: string, sequence: number, writer: string): Promise<number> {
    return (await this.#store.origin.read([{ key, sequence, writer }]))[0]!.component;
  }

  /** Another process of the region accepts cost, and has it in the origin. */
  async accept(key: string, sequence: number, total: number, writer = "another"): Promise<void> {
    await this.#store.origin.raise([{ key, sequence, writer, total, expiresAtMs: this.#time.trueMs + 86_400_000 }]);
  }

  /** The raises of cells that flushes sent: without the heartbeats. */
  cellsRaised(): readonly Raise[] {
    return this.raises.flat().filter(({ key }) => !key.startsWith("heartbeat"));
  }
}

function countersInMemory(time: ManualTime): Counters {
  return memoryCounters({ clock: serverClock(time) });
}

export class TroubledCounters implements Counters {
  readonly published: { readonly region: string; readonly rows: readonly CounterRow[] }[] = [];
  readonly reads: { readonly region: string; readonly cursor: string | null }[] = [];
  readonly registered: string[] = [];
  readonly denialWrites: { readonly region: string; readonly rows: readonly DenialRow[] }[] = [];
  readonly denials: Denials;
  cleanUps = 0;
  denialReads = 0;
  closed = 0;
  readonly #line = new Line();
  readonly #time: ManualTime;
  #store: Counters;

  constructor(time: ManualTime, store: Counters = countersInMemory(time)) {
    this.#time = time;
    this.#store = store;
    time.waits.push(() => this.#line.idle());
    this.denials = {
      write: (region, rows) => {
        this.denialWrites.push({ region, rows });
        return this.#line.call(() => this.#store.denials.write(region, rows));
      },
      read: (region, cursor) => {
        this.denialReads++;
        return this.#line.call(() => this.#store.denials.read!(region, cursor));
      },
      active: (nowMs) => {
        this.denialReads++;
        return this.#line.call(() => this.#store.denials.active(nowMs));
      },
    };
  }

  publish(region: string, rows: readonly CounterRow[]): Promise<void> {
    this.published.push({ region, rows });
    return this.#line.call(() => this.#store.publish(region, rows));
  }

  read(region: string, cursor: string | null): Promise<ImportPage> {
    this.reads.push({ region, cursor });
    return this.#line.call(() => this.#store.read(region, cursor));
  }

  cleanUp(nowMs: number, rowsMax: number): Promise<number> {
    this.cleanUps++;
    return this.#line.call(() => this.#store.cleanUp(nowMs, rowsMax));
  }

  /** A store that is asked for this before it is written or read. */
  register(region: string, origin: string): Promise<Registration> {
    this.registered.push(`${region} ${origin}`);
    return this.#line.call(() => this.#store.register!(region, origin));
  }

  async close(): Promise<void> {
    this.closed++;
  }

  trouble(trouble: Trouble): void {
    this.#line.trouble = trouble;
  }

  heal(): void {
    this.#line.end();
  }

  /** The store loses everything: an empty one takes its place. */
  lose(empty: Counters = countersInMemory(this.#time)): void {
    this.#store = empty;
  }

  /** The store itself, past all trouble and not remembered. */
  get store(): Counters {
    return this.#store;
  }

  /** All rows a region has sent, in order. */
  rowsOf(region: string): readonly CounterRow[] {
    return this.published.filter((call) => call.region === region).flatMap(({ rows }) => rows);
  }

  denialRowsOf(region: string): readonly DenialRow[] {
    return this.denialWrites.filter((call) => call.region === region).flatMap(({ rows }) => rows);
  }
}
