/**
 * A proxy between a driver and Redis that knows RESP frames, and does to them what networks and servers do.
 *
 * Lasting troubles are fields and hold for every connection: a delay, a black hole, half-open connections, one byte at a time,
 * replies held back. Single ones are ordered for the k-th command of a name from now: its reply is lost after it was executed,
 * it is sent twice, or its reply is spoilt.
 *
 * Requests and replies are matched by order, as RESP does; a push message of the server is no reply.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { FrameCutter, type RespValue } from "./resp-frames.ts";

/**
 * - `lose`: executed, then the connection is reset before the reply
 * - `skip`: executed, and the reply alone is missing: the next reply comes in its place
 * - `duplicate`: executed twice, answered once
 * - `corrupt`: the reply's bytes are spoilt
 * - `bend`: the digits of the reply become others: a well-formed lie
 */
export type CommandFault = "lose" | "skip" | "duplicate" | "corrupt" | "bend";

interface Order {
  readonly fault: CommandFault;
  readonly command: string;
  countdown: number;
}

type ReplyAction = "pass" | "lose" | "skip" | "corrupt" | "bend";

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** What to do with the replies that are still to come, in order. */
  readonly actions: ReplyAction[];
}

export class FaultProxy {
  /** Added to each direction. */
  delayMs = 0;
  /** Nothing passes in either direction; connections stay open. What comes meanwhile is lost. */
  isBlackhole = false;
  /** Requests pass, replies do not. */
  isHalfOpen = false;
  /** Replies are cut into single bytes, each written by itself. */
  isTrickling = false;
  /** New connections are closed at once. */
  isRefusing = false;
  /** Commands that were passed on, by name. */
  readonly commands: Map<string, number> = new Map();
  connections = 0;
  /** Orders that were carried out. */
  struck = 0;
  readonly #server: Server;
  readonly #upstreamPort: number;
  readonly #pairs = new Set<Pair>();
  readonly #orders: Order[] = [];
  readonly #held: (() => void)[] = [];
  #isHolding = false;

  private constructor(upstreamPort: number) {
    this.#upstreamPort = upstreamPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(upstreamPort: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstreamPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", () => resolve()));
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" ? (address?.port ?? 0) : 0;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Orders a fault for the k-th command of this name from now. */
  order(fault: CommandFault, command = "EVALSHA", k = 1): void {
    this.#orders.push({ fault, command, countdown: k });
  }

  /** Replies wait until `release`. */
  hold(): void {
    this.#isHolding = true;
  }

  release(): void {
    this.#isHolding = false;
    for (const pass of this.#held.splice(0)) pass();
  }

  /** Every connection is reset. */
  reset(): void {
    for (const { client, upstream } of this.#pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  async stop(): Promise<void> {
    this.reset();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(client: Socket): void {
    this.connections++;
    if (this.isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ port: this.#upstreamPort, host: "127.0.0.1", noDelay: true });
    const pair: Pair = { client, upstream, actions: [] };
    client.setNoDelay(true);
    this.#pairs.add(pair);
    const [requests, replies] = [new FrameCutter(), new FrameCutter()];
    client.on("data", (chunk) => {
      for (const { bytes, value } of requests.push(chunk)) this.#request(pair, bytes, value);
    });
    upstream.on("data", (chunk) => {
      for (const { bytes } of replies.push(chunk)) this.#reply(pair, bytes);
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#pairs.delete(pair);
        // A black hole tells nobody that the other side is gone.
        if (!this.isBlackhole) other.destroy();
      });
    }
  }

  #request(pair: Pair, bytes: Buffer, value: RespValue): void {
    if (this.isBlackhole) return;
    const name = Array.isArray(value) ? String(value[0]).toUpperCase() : "";
    this.commands.set(name, (this.commands.get(name) ?? 0) + 1);
    const fault = this.#strike(name);
    pair.actions.push(fault === undefined || fault === "duplicate" ? "pass" : fault);
    if (fault === "duplicate") pair.actions.push("skip");
    const sent = fault === "duplicate" ? Buffer.concat([bytes, bytes]) : bytes;
    this.#later(() => pair.upstream.write(sent));
  }

  #reply(pair: Pair, bytes: Buffer): void {
    const isPush = bytes[0] === ">".charCodeAt(0);
    const action = isPush ? "pass" : (pair.actions.shift() ?? "pass");
    if (this.isBlackhole || this.isHalfOpen || action === "skip") return;
    if (action === "lose") {
      pair.client.resetAndDestroy();
      pair.upstream.destroy();
      return;
    }
    const sent = action === "corrupt" ? spoilt(bytes) : action === "bend" ? bent(bytes) : bytes;
    const pass = () => this.#write(pair.client, sent);
    if (this.#isHolding) this.#held.push(pass);
    else this.#later(pass);
  }

  #write(client: Socket, bytes: Buffer): void {
    if (client.destroyed) return;
    if (this.isTrickling) for (const byte of bytes) client.write(Buffer.of(byte));
    else client.write(bytes);
  }

  #later(pass: () => void): void {
    if (this.delayMs === 0) pass();
    else setTimeout(pass, this.delayMs);
  }

  #strike(command: string): CommandFault | undefined {
    const order = this.#orders.find((one) => one.command === command && --one.countdown === 0);
    if (order === undefined) return undefined;
    this.struck++;
    this.#orders.splice(this.#orders.indexOf(order), 1);
    return order.fault;
  }
}

/** Another type of frame, and bytes that are none. */
function spoilt(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[0] = 0x3f;
  copy[copy.length - 3] = 0xff;
  return copy;
}

/** Every digit inside integers becomes a 9: still a frame, no longer the truth. */
function bent(bytes: Buffer): Buffer {
  const text = bytes
    .toString("latin1")
    .replaceAll(/:(\d+)/g, (_, digits: string) => `:-${digits.replaceAll(/\d/g, "9")}`);
  return Buffer.from(text, "latin1");
}
