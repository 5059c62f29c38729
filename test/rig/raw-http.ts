/** Bytes to a server and what comes back: for requests that no well-behaved client would send. */
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  /** Null: the connection ended without an answer. */
  readonly status: number | null;
  readonly body: string;
}

/** One connection that sends a request at a time and connects anew when it was closed. */
export class RawConnection {
  readonly #port: number;
  #socket: Socket | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  /** Resolves with the first answer, or when the connection ends. */
  send(bytes: Buffer | string, options: { readonly end?: boolean } = {}): Promise<RawAnswer> {
    const socket = this.#socket ?? connect(this.#port, "127.0.0.1");
    this.#socket = socket;
    return new Promise((resolve) => {
      let received = Buffer.alloc(0);
      const settle = (answer: RawAnswer, isOpen: boolean) => {
        socket.removeAllListeners();
        // Late errors of a socket that nobody uses any more.
        socket.on("error", () => {});
        if (!isOpen) {
          socket.destroy();
          this.#socket = null;
        }
        resolve(answer);
      };
      socket.on("data", (chunk) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        const answer = answerOf(received);
        const isOpen = options.end !== true && !/\r\nconnection: close/i.test(received.toString("latin1"));
        if (answer !== null) settle(answer, isOpen);
      });
      socket.on("error", () => settle(answerOf(received) ?? { status: null, body: "" }, false));
      socket.on("close", () => settle(answerOf(received) ?? { status: null, body: "" }, false));
      socket.write(bytes);
      if (options.end === true) socket.end();
    });
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }
}

/** The first whole answer among the bytes; interim ones (1xx) are passed over. */
function answerOf(received: Buffer): RawAnswer | null {
  const text = received.toString("latin1");
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1]);
  if (status >= 100 && status < 200) return answerOf(received.subarray(end + 4));
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text.slice(0, end + 2))?.[1] ?? 0);
  if (received.length < end + 4 + length) return null;
  return { status, body: received.subarray(end + 4, end + 4 + length).toString("utf8") };
}
