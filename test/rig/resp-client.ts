/** A connection of the rig's own to a Redis: for looking at what is really stored, past every driver and proxy. */
import { connect, type Socket } from "node:net";
import { encodeCommand, FrameCutter, RespError, type RespValue } from "./resp-frames.ts";

type Settle = (value: RespValue | Error) => void;

export class RespClient {
  readonly #socket: Socket;
  readonly #cutter = new FrameCutter();
  readonly #waiting: Settle[] = [];

  constructor(port: number) {
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.on("data", (chunk) => {
      for (const { value } of this.#cutter.push(chunk)) this.#waiting.shift()?.(value);
    });
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      for (const settle of this.#waiting.splice(0)) settle(new Error("the connection to Redis closed"));
    });
  }

  /** One command; rejects with Redis's own words if it answers an error. */
  ask(...args: (string | number)[]): Promise<RespValue> {
    return new Promise((resolve, reject) => {
      this.#waiting.push((value) => {
        if (value instanceof RespError || value instanceof Error) reject(value);
        else resolve(value);
      });
      if (this.#socket.destroyed) this.#waiting.pop()?.(new Error("the connection to Redis is closed"));
      else this.#socket.write(encodeCommand(args));
    });
  }

  /** The fields of a hash. */
  async hash(key: string): Promise<Record<string, string>> {
    const flat = (await this.ask("HGETALL", key)) as string[];
    return Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!]));
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** One question on a connection of its own. */
export async function askOnce(port: number, ...args: (string | number)[]): Promise<RespValue> {
  const client = new RespClient(port);
  try {
    return await client.ask(...args);
  } finally {
    client.close();
  }
}
