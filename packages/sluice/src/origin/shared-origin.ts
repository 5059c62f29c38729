/**
 * One origin for the workers of one parent process: the parent holds the counts, the workers ask by messages.
 *
 * For a cluster of Node workers, or children of `fork`, with no server to install. The channel is passed in: whatever has
 * `send` and tells of messages. Other messages on the same channel are left alone.
 */
import { SluiceError } from "../core/errors.ts";
import type { HeldCells } from "./memory-origin.ts";
import type { Origin, OriginCount, Raise, Read } from "./origin.ts";

/** What `process` is in a worker, and a `Worker` or `ChildProcess` in the parent. */
export interface MessageChannel {
  /** Calls back when the message has left this process, or could not. */
  send?: ((message: object, callback: (error: Error | null) => void) => unknown) | undefined;
  on(event: "message" | "disconnect", listener: (message: unknown) => void): unknown;
  off(event: "message" | "disconnect", listener: (message: unknown) => void): unknown;
}

/** Says whose message it is, and of which version of this protocol. */
const MARK = "sluice/origin/1";
/** Calls that wait for the parent at most: the layer has given up on older ones long before. */
const CALLS_MAX = 10_000;
/** Messages that have not left this process: while the parent is frozen, calls beyond this fail at once. */
const UNSENT_MAX_BYTES = 12 * 2 ** 20;
/** A cell in a message, beside its key, of which a unit takes up to three bytes. */
const CELL_BYTES = 150;
const UNIT_BYTES = 3;

interface Question {
  readonly mark: typeof MARK;
  readonly id: number;
  readonly ask: "raise" | "read";
  readonly cells: readonly Raise[] & readonly Read[];
}

interface Answer {
  readonly mark: typeof MARK;
  readonly id: number;
  /** Null: the origin behind it failed. */
  readonly counts: readonly OriginCount[] | null;
}

export interface OriginHostStats extends HeldCells {
  /** Cells that the workers read and raised, since the start. */
  readonly asked: { readonly read: number; readonly raise: number };
}

/** The parent's side: answers the workers it is told to serve, from an origin of its own. */
export class OriginHost {
  readonly #origin: Origin & { readonly held: HeldCells };
  /** Cells that workers asked for, since the start. */
  readonly #asked = { read: 0, raise: 0 };

  constructor(origin: Origin & { readonly held: HeldCells }) {
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
      this.#origin[ask](cells).then(answer, () => answer(null));
    });
  }
}

interface Waiting {
  resolve(counts: readonly OriginCount[]): void;
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
  readonly #lose = (): void => this.#rejectAll();
  #lastId = 0;
  #unsentBytes = 0;

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

  async close(): Promise<void> {
    this.#channel.off("message", this.#hear);
    this.#channel.off("disconnect", this.#lose);
    this.#rejectAll();
  }

  #ask(ask: "raise" | "read", cells: readonly Read[]): Promise<readonly OriginCount[]> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      const [oldest = id] = this.#waiting.keys();
      if (this.#waiting.size > CALLS_MAX) this.#settle(oldest, null);
      if (this.#unsentBytes >= UNSENT_MAX_BYTES) {
        this.#settle(id, null);
        return;
      }
      const bytes = cells.reduce((sum, { key }) => sum + CELL_BYTES + UNIT_BYTES * key.length, 0);
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
  if ([send, on, off].every((one) => typeof one === "function")) return;
  throw new SluiceError("RL_CHANNEL_INVALID", field, channel);
}

function isMarked(message: unknown): message is { readonly mark: typeof MARK; readonly id: unknown } {
  return typeof message === "object" && message !== null && "mark" in message && message.mark === MARK;
}

function isQuestion(message: unknown): message is Question {
  if (!isMarked(message) || !("ask" in message) || !("cells" in message)) return false;
  const isAsk = message.ask === "raise" || message.ask === "read";
  return isAsk && Number.isSafeInteger(message.id) && Array.isArray(message.cells) && message.cells.every(isCell);
}

function isCell(cell: unknown): boolean {
  if (typeof cell !== "object" || cell === null) return false;
  const { key, sequence, writer, total = 0, expiresAtMs = 0 } = cell as Partial<Raise>;
  const isNamed = typeof key === "string" && typeof writer === "string" && Number.isSafeInteger(sequence);
  return isNamed && Number.isSafeInteger(total) && total >= 0 && Number.isFinite(expiresAtMs);
}
