/**
 * Ends an HTTP server without breaking off a request. First it accepts the connections that are established and wait in the kernel's
 * queue: closing the listener would reset them, with the requests that they carry. Then it stops listening, and every answer ends its
 * connection, those of requests that are under way included. Idle connections have a moment to be used once more, because a request
 * may be on its way; then they are closed.
 *
 * The moment begins again with each answer that could not end its connection because its headers were sent before. A server that closes
 * such a connection at once resets the request that is just arriving, and its client cannot know whether it was counted.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";

const ASK_AGAIN_MS = 20;
/**
 * Half a second: longer than a request needs to arrive, shorter than anyone minds. In rounds, not by the clock: a process that stood
 * still meanwhile must read what has arrived before it closes.
 */
const LINGER_ROUNDS = 25;
/**
 * Maximum time to accept connections that wait; a quarter of the deadline if that is shorter. Node accepts one connection per turn of its
 * event loop, so a busy server has a queue: up to 40 of 64 connections waited half a second after they were opened. Only a server
 * that gets new connections all the time needs the whole second.
 */
const ACCEPT_MAX_MS = 1_000;

export class Drain {
  readonly #server: HttpServer;
  readonly #sockets = new Set<Socket>();
  /** The latest response of each connection that is not sent yet. */
  readonly #underWay = new Map<Socket, ServerResponse>();
  #accepted = 0;
  #isOpen = true;
  #lingerRounds = LINGER_ROUNDS;
  #rounds = 0;
  /** Of `#rounds`: when idle connections are closed. */
  #lingersUntil = 0;

  /** Before it listens. */
  constructor(server: HttpServer) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#accepted += 1;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    // With TLS, requests name the socket of the second event. A pipelined response that waits for those before it never hears of the end.
    for (const event of ["connection", "secureConnection"]) {
      server.on(event, (socket: Socket) => socket.once("close", () => this.#underWay.delete(socket)));
    }
    server.prependListener("request", (request, response) => this.#begun(request, response));
  }

  /** How many connections have a response that is not sent yet. */
  get busy(): number {
    return this.#underWay.size;
  }

  /**
   * Resolves with how many connections had to be cut in mid-request at the deadline.
   * @param allClosed of a worker: resolves when no worker takes connections any more. Until then its answers keep their connections.
   */
  async run(deadlineMs: number, allClosed?: () => Promise<void>): Promise<number> {
    const endMs = performance.now() + deadlineMs;
    this.#lingerRounds = Math.min(LINGER_ROUNDS, deadlineMs / 2 / ASK_AGAIN_MS);
    const acceptMs = Math.min(ACCEPT_MAX_MS, deadlineMs / 4);
    await this.#acceptWaiting(performance.now() + acceptMs);
    // Not the HTTP server's own close, which closes idle connections at once.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    if (allClosed !== undefined) await waited(allClosed(), acceptMs / ASK_AGAIN_MS);
    this.#isOpen = false;
    this.#lingersUntil = this.#lingerRounds;
    for (const response of this.#underWay.values()) if (!response.headersSent) announceClose(response);
    for (; this.#sockets.size > 0 && performance.now() < endMs; this.#rounds++) {
      if (this.#rounds >= this.#lingersUntil) this.#closeIdle();
      await nextRound();
    }
    // On a busy machine the deadline may come before the moment of the idle connections is over: those are not cut.
    this.#closeIdle();
    await nextRound();
    const { size } = this.#sockets;
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    // What the HTTP server itself has to let go of.
    this.#server.close();
    return size;
  }

  /** Answers still keep their connections here: clients that have to connect again would come back to this listener. */
  async #acceptWaiting(endMs: number): Promise<void> {
    for (let before = -1; before !== this.#accepted && performance.now() < endMs; ) {
      before = this.#accepted;
      await nextRound();
    }
  }

  #begun({ socket }: IncomingMessage, response: ServerResponse): void {
    if (!this.#isOpen) {
      // Node ends the connection after the first answer that says so: of pipelined requests it must be the last.
      const before = this.#underWay.get(socket);
      if (before?.headersSent === false) before.setHeader("connection", "keep-alive");
      announceClose(response);
    }
    this.#underWay.set(socket, response);
    response.once("close", () => this.#ended(socket, response));
  }

  #ended(socket: Socket, response: ServerResponse): void {
    if (this.#underWay.get(socket) === response) this.#underWay.delete(socket);
    if (!this.#isOpen && response.getHeader("connection") !== "close")
      this.#lingersUntil = this.#rounds + this.#lingerRounds;
  }

  #closeIdle(): void {
    this.#server.closeIdleConnections();
    // Node does not call a connection idle that was opened and never used.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}

/** Right after the event loop has read what had arrived, and not before: its timers run first. */
function nextRound(): Promise<void> {
  return new Promise((resolve) => setTimeout(() => setImmediate(resolve), ASK_AGAIN_MS));
}

/** Resolves with the work, or after so many rounds. */
async function waited(work: Promise<void>, roundsMax: number): Promise<void> {
  let isDone = false;
  void work.then(() => {
    isDone = true;
  });
  for (let round = 0; !isDone && round < roundsMax; round++) await nextRound();
}

function announceClose(response: ServerResponse): void {
  response.setHeader("connection", "close");
}
