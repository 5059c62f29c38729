/**
 * Ends an HTTP server so that nobody who speaks to it is cut off: no new connections; every answer from now on ends its connection;
 * idle connections have a moment to be used once more, because a request may be on its way; then they are closed.
 *
 * A server that closes its idle connections at once resets the request that is just arriving, and its client cannot know whether
 * it was counted.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";

const ASK_AGAIN_MS = 20;
/**
 * Half a second: longer than a request needs to arrive, shorter than anyone minds. In rounds, not by the clock: a process that stood
 * still meanwhile must read what has arrived before it closes.
 */
const LINGER_ROUNDS = 25;

export class Drain {
  readonly #server: HttpServer;
  readonly #sockets = new Set<Socket>();

  /** Before it listens. */
  constructor(server: HttpServer) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** Resolves with how many connections had to be cut in mid-request at the deadline. */
  async run(deadlineMs: number): Promise<number> {
    const endMs = performance.now() + deadlineMs;
    const lingerRounds = Math.min(LINGER_ROUNDS, deadlineMs / 2 / ASK_AGAIN_MS);
    this.#server.prependListener("request", tellToGo);
    // Not the HTTP server's own close, which closes idle connections at once.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    for (let round = 0; this.#sockets.size > 0 && performance.now() < endMs; round++) {
      if (round >= lingerRounds) this.#closeIdle();
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
    const { size } = this.#sockets;
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    // What the HTTP server itself has to let go of.
    this.#server.close();
    return size;
  }

  #closeIdle(): void {
    this.#server.closeIdleConnections();
    // Node does not call a connection idle that was opened and never used.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}

function tellToGo(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("connection", "close");
}
