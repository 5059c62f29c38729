/**
 * One connection to the server under load: one request at a time, kept open, opened anew when it was lost.
 *
 * Written on bare sockets, because the generator must not be what is measured: 36 µs of processor a request, where an agent of
 * node:http takes 130, more than the server itself.
 */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { AnswerReader, type ReadAnswer } from "./answer-reader.ts";

/** What came of a request: an answer, or the code of what went wrong with the connection. */
export type Result = ReadAnswer | string;

export class LoadConnection {
  /** When its last request was over. Written by the loop. */
  freeSinceMs = 0;
  /** When its request was sent. Written by the loop. */
  sentMs = 0;
  readonly #url: URL;
  #socket: Socket | null = null;
  #reader = new AnswerReader();
  #onResult: ((result: Result) => void) | null = null;

  constructor(url: URL) {
    this.#url = url;
  }

  get isBusy(): boolean {
    return this.#onResult !== null;
  }

  /** Resolves when it is connected; rejects if it cannot be. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = this.#connect();
      socket.once(this.#isTls ? "secureConnect" : "connect", () => resolve());
      socket.once("error", reject);
      socket.once("close", () => reject(new Error("closed")));
    });
  }

  /** Sends a whole request; tells once what came of it. */
  ask(request: string, onResult: (result: Result) => void): void {
    this.#onResult = onResult;
    (this.#socket ?? this.#connect()).write(request, "utf8");
  }

  /** Gives up the request that it has, if any, and the connection. */
  abandon(code: string): void {
    this.#socket?.destroy();
    this.#socket = null;
    this.#settle(code);
  }

  get #isTls(): boolean {
    return this.#url.protocol === "https:";
  }

  #connect(): Socket {
    const { hostname, port } = this.#url;
    const host = hostname.replace(/^\[|\]$/g, "");
    const socket = this.#isTls
      ? connectTls({ host, port: Number(port) || 443, servername: /^[\d.:]+$/.test(host) ? "" : host })
      : connect({ host, port: Number(port) || 80 });
    socket.setNoDelay(true).setEncoding("latin1");
    this.#socket = socket;
    this.#reader = new AnswerReader();
    let code = "closed";
    socket.on("data", (chunk: unknown) => {
      if (this.#socket === socket) this.#received(this.#reader.push(chunk as string));
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      code = error.code ?? error.message;
    });
    socket.on("close", () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      this.#settle(this.#reader.end() ?? code);
    });
    return socket;
  }

  #received(answer: ReadAnswer | "junk" | undefined): void {
    if (answer === undefined) return;
    // What comes unasked, or after an answer, cannot be told from the next answer.
    if (answer === "junk" || this.#onResult === null || this.#reader.hasRest) {
      this.abandon("junk");
      return;
    }
    if (answer.isLast) {
      this.#socket?.destroy();
      this.#socket = null;
    }
    this.#settle(answer);
  }

  #settle(result: Result): void {
    const onResult = this.#onResult;
    this.#onResult = null;
    onResult?.(result);
  }
}
