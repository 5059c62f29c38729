/**
 * One origin for the workers of one parent process: the parent holds the counts, the workers ask by messages.
 *
 * For a cluster of Node workers, or children of `fork`, with no server to install. The channel is passed in: whatever has
 * `send` and tells of messages. Other messages on the same channel are left alone.
 */
import { SluiceError } from "../core/errors.ts";
import type { Free, Freed, Held, Hold } from "./hold.ts";
import { type FreeMessage, isFreeMessage, isHold } from "./hold-message.ts";
import type { HeldCells } from "./memory-origin.ts";
import type { Admit, AdmitRequest, Admitted, Origin, OriginCount, Raise, Read } from "./origin.ts";

/** What `process` is in a worker, and a `Worker` or `ChildProcess` in the parent. */
export interface MessageChannel {
  /** Calls back when the message has left this process, or could not. */
  send?: ((message: object, callback: (error: Error | null) => void) => unknown) | undefined;
  on(event: "message" | "disconnect", listener: (message: unknown) => void): unknown;
  off(event: "message" | "disconnect", listener: (message: unknown) => void): unknown;
}

/** Says whose message it is, and of which version of this protocol. */
const MARK = "sluice/origin/2";
/** Calls that wait for the parent at most: the layer has given up on older ones long before. */
const CALLS_MAX = 10_000;
/** Messages that have not left this process: while the parent is frozen, calls beyond this fail at once. */
const UNSENT_MAX_BYTES = 12 * 2 ** 20;
/** A cell in a message, beside its key, of which a unit takes up to three bytes. */
const CELL_BYTES = 150;
const UNIT_BYTES = 3;
/** What an `admit` takes beyond that: its other fields, and each of its requests. */
const ADMIT_BYTES = 250;
const REQUEST_BYTES = 60;
/** An item of a `hold` or a `free`, beside its key. */
const HOLD_BYTES = 400;
/** Requests of one `admit`. */
const REQUESTS_MAX = 64;

/** What a worker may ask for, and what each of the cells is answered with. */
interface Asks {
  readonly raise: { readonly cell: Raise; readonly answer: OriginCount };
  readonly read: { readonly cell: Read; readonly answer: OriginCount };
  readonly admit: { readonly cell: Admit; readonly answer: Admitted };
  readonly hold: { readonly cell: Hold; readonly answer: Held };
  readonly free: { readonly cell: FreeMessage; readonly answer: Freed };
}
type Ask = keyof Asks;

interface Question {
  readonly mark: typeof MARK;
  readonly id: number;
  readonly ask: Ask;
  readonly cells: readonly unknown[];
}

interface Answer {
  readonly mark: typeof MARK;
  readonly id: number;
  /** Null: the origin behind it failed. */
  readonly counts: readonly Asks[Ask]["answer"][] | null;
}

export interface OriginHostStats extends HeldCells {
  /** Cells that the workers read and raised, keys that they asked to admit, and calls that held and freed, since the start. */
  readonly asked: Readonly<Record<Ask, number>>;
}

type HostedOrigin = Required<Pick<Origin, Ask>> & { readonly held: HeldCells };

/** The parent's side: answers the workers it is told to serve, from an origin of its own. */
export class OriginHost {
  readonly #origin: HostedOrigin;
  /** Cells that workers asked for, since the start. */
  readonly #asked = { read: 0, raise: 0, admit: 0, hold: 0, free: 0 };

  constructor(origin: HostedOrigin) {
    this.#origin = origin;
  }

  stats(): OriginHostStats {
    return { ...this.#origin.held, asked: { ...this.#asked } };
  }

  /**
   * Answers this worker from now on.
   *
   * @throws SluiceError if it is no channel.
   */
  serve(worker: MessageChannel): void {
    checkChannel(worker, "worker");
    worker.on("message", (message) => {
      if (!isQuestion(message)) return;
      const { id, ask, cells } = message;
      // A worker that is gone needs no answer, and one that asks nonsense gets none.
      const answer = (counts: Answer["counts"]) => send(worker, { mark: MARK, id, counts }, () => {});
      this.#asked[ask] += cells.length;
      this.#ask(ask, cells).then(answer, () => answer(null));
    });
  }

  #ask(ask: Ask, cells: readonly unknown[]): Promise<readonly Asks[Ask]["answer"][]> {
    switch (ask) {
      case "hold":
        return Promise.all((cells as readonly Hold[]).map((hold) => this.#origin.hold(hold)));
      case "free":
        return Promise.all((cells as readonly FreeMessage[]).map(({ frees, atMs }) => this.#origin.free(frees, atMs)));
      default:
        return this.#origin[ask](cells as readonly Raise[] & readonly Read[] & readonly Admit[]);
    }
  }
}

interface Waiting {
  resolve(counts: NonNullable<Answer["counts"]>): void;
  reject(error: Error): void;
}

class ParentAway extends Error {
  override readonly name = "ParentAway";
}

/** A worker's side: an origin like any other. */
export class SharedOrigin implements Origin {
  readonly isVolatile = true;
  readonly isNear = true;
  readonly #channel: MessageChannel;
  readonly #waiting = new Map<number, Waiting>();
  readonly #hear = (message: unknown): void => this.#receive(message);
  readonly #lose = (): void => {
    this.#isLost = true;
    this.#rejectAll();
  };
  #lastId = 0;
  #unsentBytes = 0;
  #isLost = false;

  constructor(channel: MessageChannel) {
    checkChannel(channel, "channel");
    this.#channel = channel;
    channel.on("message", this.#hear);
    channel.on("disconnect", this.#lose);
  }

  raise(raises: readonly Raise[]): Promise<readonly OriginCount[]> {
    return this.#ask("raise", raises);
  }

  read(reads: readonly Read[]): Promise<readonly OriginCount[]> {
    return this.#ask("read", reads);
  }

  admit(admits: readonly Admit[]): Promise<readonly Admitted[]> {
    return this.#ask("admit", admits);
  }

  async hold(hold: Hold): Promise<Held> {
    const [held] = await this.#ask("hold", [hold]);
    return held!;
  }

  async free(frees: readonly Free[], atMs: number): Promise<Freed> {
    const [freed] = await this.#ask("free", [{ frees, atMs }]);
    return freed!;
  }

  /** A worker has one parent: as long as the channel is open, every answer comes from the same memory. */
  life(): number | undefined {
    return this.#isLost ? undefined : 0;
  }

  async close(): Promise<void> {
    this.#channel.off("message", this.#hear);
    this.#channel.off("disconnect", this.#lose);
    this.#rejectAll();
  }

  #ask<A extends Ask>(ask: A, cells: readonly Asks[A]["cell"][]): Promise<readonly Asks[A]["answer"][]> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve: resolve as Waiting["resolve"], reject });
      const [oldest = id] = this.#waiting.keys();
      if (this.#waiting.size > CALLS_MAX) this.#settle(oldest, null);
      if (this.#unsentBytes >= UNSENT_MAX_BYTES) {
        this.#settle(id, null);
        return;
      }
      const bytes = cells.reduce((sum, cell) => sum + bytesOf(cell), 0);
      this.#unsentBytes += bytes;
      send(this.#channel, { mark: MARK, id, ask, cells }, (isSent) => {
        this.#unsentBytes -= bytes;
        if (!isSent) this.#settle(id, null);
      });
    });
  }

  #receive(message: unknown): void {
    if (isMarked(message) && "counts" in message) this.#settle(Number(message.id), message.counts as Answer["counts"]);
  }

  #settle(id: number, counts: Answer["counts"]): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (counts === null) waiting?.reject(new ParentAway("the parent process does not answer"));
    else waiting?.resolve(counts);
  }

  #rejectAll(): void {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, null);
  }
}

/**
 * Sends, and says once whether it was sent. The callback matters: without one, Node tells that a channel is closed by an `error` event
 * that nobody listens to, and ends the process.
 */
function send(channel: MessageChannel, message: object, done: (isSent: boolean) => void): void {
  try {
    if (channel.send === undefined) done(false);
    else channel.send(message, (error) => done(error === null || error === undefined));
  } catch {
    // A channel that is closed may throw.
    done(false);
  }
}

function checkChannel(channel: unknown, field: string): void {
  const { send, on, off } = (channel ?? {}) as Partial<MessageChannel>;
  if ([send, on, off].every((method) => typeof method === "function")) return;
  throw new SluiceError("RL_CHANNEL_INVALID", field, channel);
}

function isMarked(message: unknown): message is { readonly mark: typeof MARK; readonly id: unknown } {
  return typeof message === "object" && message !== null && "mark" in message && message.mark === MARK;
}

function isQuestion(message: unknown): message is Question {
  if (!isMarked(message) || !("ask" in message) || !("cells" in message)) return false;
  if (!isAsk(message.ask) || !Number.isSafeInteger(message.id) || !Array.isArray(message.cells)) return false;
  return message.cells.every(CHECKS[message.ask]);
}

function isAsk(ask: unknown): ask is Ask {
  return typeof ask === "string" && Object.hasOwn(CHECKS, ask);
}

/** What each of the cells of a question must be. */
const CHECKS: Readonly<Record<Ask, (cell: unknown) => boolean>> = {
  raise: isCell,
  read: isCell,
  admit: isAdmit,
  hold: isHold,
  free: isFreeMessage,
};

function isCell(cell: unknown): boolean {
  if (typeof cell !== "object" || cell === null) return false;
  const { key, sequence, writer, total = 0, expiresAtMs = 0 } = cell as Partial<Raise>;
  const isNamed = typeof key === "string" && typeof writer === "string" && Number.isSafeInteger(sequence);
  return isNamed && isCount(total) && Number.isFinite(expiresAtMs);
}

function isAdmit(cell: unknown): boolean {
  if (!isCell(cell)) return false;
  const { total, expiresAtMs, previousTotal, previousExpiresAtMs, ...rest } = cell as Partial<Admit>;
  const { foreign, previousForeign, leftMs, durationMs, requests } = rest;
  const isDated = [expiresAtMs, previousExpiresAtMs].every((ms) => Number.isFinite(ms));
  if (!isDated || ![total, previousTotal, foreign, previousForeign].every(isCount)) return false;
  if (!isCount(leftMs) || !isCount(durationMs) || durationMs === 0 || leftMs > durationMs) return false;
  return isFew(requests) && requests.every(isRequest);
}

function isFew(requests: unknown): requests is readonly unknown[] {
  return Array.isArray(requests) && requests.length >= 1 && requests.length <= REQUESTS_MAX;
}

function isRequest(request: unknown): boolean {
  const { limit, cost } = (request ?? {}) as Partial<AdmitRequest>;
  return isCount(limit) && isCount(cost) && cost >= 1;
}

function isCount(count: unknown): count is number {
  return Number.isSafeInteger(count) && (count as number) >= 0;
}

function bytesOf(cell: Asks[Ask]["cell"]): number {
  if ("items" in cell || "frees" in cell) {
    const items: readonly { readonly key: string }[] = "items" in cell ? cell.items : cell.frees;
    return items.reduce((sum, { key }) => sum + HOLD_BYTES + UNIT_BYTES * key.length, CELL_BYTES);
  }
  const bytes = CELL_BYTES + UNIT_BYTES * cell.key.length;
  return "requests" in cell ? bytes + ADMIT_BYTES + REQUEST_BYTES * cell.requests.length : bytes;
}
