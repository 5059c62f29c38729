/**
 * The connections of a listener, and how much of the server's memory and time each of them may take.
 *
 * Invariants, checked when a request arrives, when an answer is made, and once a second:
 * - A connection has at most UNANSWERED_MAX unanswered requests. They and their unsent answers hold at most HELD_MAX_BYTES, and those of
 *   all connections together at most HELD_TOTAL_MAX_BYTES. A connection with a single request is exempt from the bound per connection:
 *   its answer may be larger.
 * - An answer is sent within `sendTimeoutMs` after it is the first in line, or the connection is destroyed.
 * - A connection without a request is destroyed after `idleMaxMs`, whatever bytes arrive on it. Node's own timer starts again at each
 *   byte, even at the empty lines that may precede a request.
 * - A connection that the server has ended is destroyed soon after, even if the client never closes its side.
 *
 * Connections are destroyed without an answer: their clients do not read, or send faster than they read. Requests that arrive too
 * slowly are found by Node's own checks, and answered by broken-request.ts.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { CutReason } from "../../metrics/tally.ts";

export interface ConnectionLimits {
  /** Maximum time to send an answer to a client that does not read it. */
  readonly sendTimeoutMs: number;
  /** Maximum time between an answer and the next request. */
  readonly idleMaxMs: number;
  /** Called when a connection is destroyed because of these limits. */
  readonly onCut: (reason: CutReason) => void;
}

/** Of Node's request, response and headers: 3 KiB measured with small headers. The rest allows for larger headers and a parsed body. */
const REQUEST_BYTES = 8 * 1024;
/** Unanswered requests per connection. Clients that pipeline at all mostly send about ten at once. */
const UNANSWERED_MAX = 32;
/** Per connection: as many answers of 248 KiB, which is six times the largest page. */
const HELD_MAX_BYTES = 8 * 1024 * 1024;
/** 64 MiB, or 8,192 pipelined requests. The connection that holds the most is destroyed first. */
const HELD_TOTAL_MAX_BYTES = 8 * HELD_MAX_BYTES;
const SWEEP_MS = 1_000;
/** After the server's last byte: long enough for the client to read it. */
const CLOSE_GRACE_MS = 1_000;

/** What one connection holds. */
class Connection {
  readonly socket: Socket;
  /** Requests that have begun and whose answers are not sent yet. */
  unanswered = 0;
  /** Of the requests after the first, and of all answers that are not sent yet. */
  heldBytes = 0;
  /** When the connection was opened, or the last answer was sent. */
  idleSinceMs = performance.now();
  /** When the sweep first found bytes that the client has not read; null after each answer that was sent. */
  stalledSinceMs: number | null = null;
  /** The latest request and its response; null when it was received and answered. */
  last: { readonly request: IncomingMessage; readonly response: ServerResponse } | null = null;
  /** Set when the bytes received are not a request: runs when only `unanswered` requests are left. */
  atEnd: { readonly run: () => void; readonly unanswered: number } | null = null;

  constructor(socket: Socket) {
    this.socket = socket;
  }
}

/** One request of a connection. The API calls `made` with the bytes of the body as they arrive, and with the length of its answer. */
export interface Turn {
  readonly made: (bytes: number) => void;
}

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Map<Socket, Connection>();
  #heldBytes = 0;

  /** Before the server listens. */
  constructor(server: Server, isTls: boolean, limits: ConnectionLimits) {
    this.#limits = limits;
    server.on(isTls ? "secureConnection" : "connection", (socket: Socket) => this.#opened(socket));
    const timer = setInterval(() => this.sweepOnce(performance.now()), SWEEP_MS);
    timer.unref();
    server.once("close", () => clearInterval(timer));
  }

  /** Null if the request must be ignored: its connection was destroyed, because it held too much. */
  begin(request: IncomingMessage, response: ServerResponse): Turn | null {
    const connection = this.#open.get(request.socket);
    if (connection === undefined) return null;
    // There is one first request per connection, and connections are bounded by `connectionsMax`.
    let turnBytes = connection.unanswered === 0 ? 0 : REQUEST_BYTES;
    connection.unanswered += 1;
    connection.last = { request, response };
    response.once("finish", () => this.#sent(connection, turnBytes, request));
    this.#hold(connection, turnBytes);
    if (request.socket.destroyed) return null;
    return {
      made: (bytes) => {
        turnBytes += bytes;
        this.#hold(connection, bytes);
      },
    };
  }

  /**
   * Ends a connection that has sent something else than a request: `lastWords` is written when all requests before it are answered.
   * Nothing is written if the request was answered before its body turned out to be broken.
   */
  endAfterAnswers(socket: Socket, lastWords: () => string): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) {
      socket.destroy();
      return;
    }
    // The parser reports the same error again for whatever else arrives.
    if (connection.atEnd !== null) return;
    const { last } = connection;
    const isIncomplete = last !== null && !last.request.complete;
    const isAnswered = isIncomplete && last.response.headersSent;
    const run = () => {
      socket.end(isAnswered ? "" : lastWords());
      setTimeout(() => socket.destroy(), CLOSE_GRACE_MS).unref();
    };
    connection.atEnd = { run, unanswered: isIncomplete && !isAnswered ? 1 : 0 };
    socket.pause();
    if (connection.unanswered === connection.atEnd.unanswered) run();
  }

  /** The timer's body. */
  sweepOnce(nowMs: number): void {
    const { sendTimeoutMs, idleMaxMs } = this.#limits;
    for (const connection of this.#open.values()) {
      const { socket } = connection;
      if (socket.writableLength > 0 || socket.writableEnded) connection.stalledSinceMs ??= nowMs;
      else connection.stalledSinceMs = null;
      if (nowMs - (connection.stalledSinceMs ?? nowMs) > sendTimeoutMs) this.#cut(connection, "unread");
      else if (connection.unanswered === 0 && nowMs - connection.idleSinceMs > idleMaxMs) this.#cut(connection, "idle");
    }
  }

  #opened(socket: Socket): void {
    const connection = new Connection(socket);
    this.#open.set(socket, connection);
    socket.once("close", () => this.#release(connection));
  }

  #release({ socket, heldBytes }: Connection): void {
    if (this.#open.delete(socket)) this.#heldBytes -= heldBytes;
  }

  #hold(connection: Connection, bytes: number): void {
    if (!this.#open.has(connection.socket)) return;
    connection.heldBytes += bytes;
    this.#heldBytes += bytes;
    const { unanswered, heldBytes } = connection;
    if (unanswered > UNANSWERED_MAX || (unanswered > 1 && heldBytes > HELD_MAX_BYTES))
      this.#cut(connection, "pipelined");
    else if (this.#heldBytes > HELD_TOTAL_MAX_BYTES) this.#cutLargest();
  }

  #sent(connection: Connection, turnBytes: number, request: IncomingMessage): void {
    if (!this.#open.has(connection.socket)) return;
    connection.heldBytes -= turnBytes;
    this.#heldBytes -= turnBytes;
    connection.unanswered -= 1;
    connection.idleSinceMs = performance.now();
    connection.stalledSinceMs = null;
    // An idle connection must not keep its last request in memory.
    if (connection.last?.request === request && request.complete) connection.last = null;
    const { atEnd } = connection;
    if (atEnd !== null && connection.unanswered === atEnd.unanswered) atEnd.run();
  }

  #cutLargest(): void {
    let largest: Connection | undefined;
    for (const connection of this.#open.values()) {
      if (largest === undefined || connection.heldBytes > largest.heldBytes) largest = connection;
    }
    if (largest !== undefined) this.#cut(largest, "unread");
  }

  #cut(connection: Connection, reason: CutReason): void {
    // At once, not at the event "close": what it holds must not make others be cut.
    this.#release(connection);
    ignoreTheRest(connection.socket);
    connection.socket.destroy();
    this.#limits.onCut(reason);
  }
}

/** Node's parser of a socket: not documented, so nothing depends on it but memory. */
interface ParsedSocket extends Socket {
  readonly parser?: { onIncoming?: () => number } | null;
}

/** What Node's parser takes as "the rest is another protocol". */
const UPGRADE = 2;

/**
 * Stops the parser in the middle of what it has read. Otherwise a destroyed socket still gets a request and a response object for each
 * request of the same 64 KiB, all of them alive until the event loop closes the socket: 400 connections took 460 MiB that way.
 */
function ignoreTheRest({ parser }: ParsedSocket): void {
  if (parser?.onIncoming !== undefined) parser.onIncoming = () => UPGRADE;
}
