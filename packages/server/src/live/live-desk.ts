/**
 * The open streams of a process: each gets a snapshot per second until its client leaves, its key may not read any more, or the server stops.
 *
 * Bounded: STREAMS_MAX in all and STREAMS_OF_KEY_MAX per key. A client that does not read gets no further snapshots while the last one waits, so a
 * stream holds one snapshot at most; connections.ts ends it in the end. Streams of one workspace share the work of a snapshot.
 *
 * Keys are looked at four times a second: with the directory's two reads per second, a stream ends within a second of the revocation.
 */
import { type Caller, usable } from "../access/caller.ts";
import { checkPermission, mayServe } from "../access/permission.ts";
import { Refusal } from "../access/refusal.ts";
import type { Directory } from "../admin/directory.ts";
import type { Environment } from "../system/system.ts";
import type { LiveQuestion, LiveReading } from "./live-reading.ts";

const STREAMS_MAX = 100;
export const STREAMS_OF_KEY_MAX = 6;
const CHECK_MS = 250;
const CHECKS_PER_SNAPSHOT = 4;

/** What a stream writes to. */
export interface LiveSink {
  /** False while what was written before is not sent. */
  readonly isFree: boolean;
  write(text: string): void;
  end(): void;
  onClose(callback: () => void): void;
}

export interface LiveDeskParts {
  readonly directory: Directory;
  readonly environment: Environment;
  /** What this process knows. */
  readonly own: (question: LiveQuestion) => Promise<LiveReading>;
  /** Asks all processes of the server; left out where this is the only one. */
  readonly askAll?: ((question: LiveQuestion) => Promise<LiveReading>) | undefined;
}

interface Stream {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly sink: LiveSink;
  /** The text of a snapshot, for this stream. */
  readonly textOf: (reading: LiveReading) => string;
}

export class LiveDesk {
  readonly #parts: LiveDeskParts;
  readonly #streams = new Set<Stream>();
  #timer: unknown = null;
  #checks = 0;
  #isClosed = false;

  constructor(parts: LiveDeskParts) {
    this.#parts = parts;
  }

  get open(): number {
    return this.#streams.size;
  }

  /** What the server knows. */
  ask(question: LiveQuestion): Promise<LiveReading> {
    return (this.#parts.askAll ?? this.#parts.own)(question);
  }

  /** What this process knows. */
  own(question: LiveQuestion): Promise<LiveReading> {
    return this.#parts.own(question);
  }

  /** @throws Refusal if there are too many. */
  checkRoom({ key }: Caller): void {
    if (this.#isClosed) throw Refusal.unavailable("The server is stopping.");
    const own = [...this.#streams].filter(({ keyId }) => keyId === key.id).length;
    if (own >= STREAMS_OF_KEY_MAX) throw tooMany(`the key has ${STREAMS_OF_KEY_MAX} open streams`);
    if (this.#streams.size >= STREAMS_MAX) throw tooMany(`the server process has ${STREAMS_MAX} open streams`);
  }

  begin({ key, workspace }: Caller, sink: LiveSink, textOf: Stream["textOf"]): void {
    const stream: Stream = { keyId: key.id, workspaceId: workspace.id, sink, textOf };
    this.#streams.add(stream);
    sink.onClose(() => this.#remove(stream));
    void this.#snapshotOnce([stream]);
    if (this.#timer === null) this.#schedule();
  }

  /** Ends all streams, and lets no more begin. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) this.#end(stream, "The server is stopping.");
  }

  /** The timer's body. */
  async checkOnce(): Promise<void> {
    for (const stream of this.#streams) {
      const refusal = this.#refusalOf(stream);
      if (refusal !== null) this.#end(stream, refusal);
    }
    this.#checks += 1;
    if (this.#checks % CHECKS_PER_SNAPSHOT === 0) await this.#snapshotOnce([...this.#streams]);
  }

  #schedule(): void {
    if (this.#streams.size === 0) {
      this.#timer = null;
      return;
    }
    this.#timer = this.#parts.environment.timers.set(() => {
      // A snapshot that fails or waits does not stop the checks of keys.
      void this.checkOnce();
      this.#schedule();
    }, CHECK_MS);
  }

  async #snapshotOnce(streams: readonly Stream[]): Promise<void> {
    const { directory } = this.#parts;
    const groups = new Map<string, { readonly question: LiveQuestion; readonly streams: Stream[] }>();
    for (const stream of streams) {
      if (!stream.sink.isFree) continue;
      const key = directory.keyById(stream.keyId);
      const question = { workspaceId: stream.workspaceId, wantsServer: key !== undefined && mayServe(key) };
      const name = JSON.stringify(question);
      const group = groups.get(name) ?? { question, streams: [] };
      groups.set(name, group);
      group.streams.push(stream);
    }
    for (const group of groups.values()) {
      const reading = await this.ask(group.question).catch(() => null);
      if (reading === null) continue;
      for (const { sink, textOf } of group.streams.filter((stream) => this.#streams.has(stream))) {
        sink.write(`event: snapshot\ndata: ${textOf(reading)}\n\n`);
      }
    }
  }

  /** Why a stream must end; null if it may go on. */
  #refusalOf({ keyId, workspaceId }: Stream): string | null {
    const { directory, environment } = this.#parts;
    try {
      const key = directory.keyById(keyId);
      checkPermission(
        usable(key, directory.workspaceOf(workspaceId), environment.clock.wallMs()).key,
        "read_namespace",
        undefined,
      );
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #end(stream: Stream, detail: string): void {
    this.#remove(stream);
    stream.sink.write(`event: end\ndata: ${JSON.stringify({ detail })}\n\n`);
    stream.sink.end();
  }

  #remove(stream: Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    this.#parts.environment.timers.clear(this.#timer);
    this.#timer = null;
  }
}

function tooMany(why: string): Refusal {
  return new Refusal("stream_limit_reached", `The stream was not opened: ${why}, which is the maximum.`, {
    retryAfterS: 1,
  });
}
