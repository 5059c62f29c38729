/**
 * One connection to one Redis server, from its greeting to its end. It is not made again: link.ts makes another.
 *
 * Invariants: a command is written once, and settled once: by its reply, by its deadline, or by the end of the connection. Replies belong to
 * commands in order, so a command whose deadline has passed still waits for its reply, which is dropped.
 *
 * Commands of one turn are written together at its end.
 */
import { connect as connectSocket, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { CommandBytes } from "./command-bytes.ts";
import { failureOf, RedisFailure } from "./failure.ts";
import type { RedisAddress, RedisTls } from "./options.ts";
import { encodeCommand, ReplyReader } from "./resp.ts";

export type RedisEndpoint = RedisAddress | { readonly path: string };

export interface ConnectionOptions {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: RedisTls | null;
}

/** Takes a reply, or a RedisFailure. */
export type Settle = (reply: unknown) => void;

/** A command that waits for its reply. */
interface Flight {
  readonly sentMs: number;
  readonly bytes: number;
  /** Null once its deadline has passed. */
  settle: Settle | null;
}

/** Commands on their way. Each speaks of up to 64 cells; more than this is never useful. */
const COMMANDS_MAX = 20_000;
/** Flights that have their reply are let go of at once if they are all, otherwise this many at a time. */
const SETTLED_MAX = 256;
const PORT_DEFAULT = 6379;
const KEEP_ALIVE_MS = 5_000;

export class RedisConnection {
  readonly #socket: Socket;
  readonly #reader = new ReplyReader();
  readonly #underWay = new CommandBytes();
  /** Oldest first, from `#first` on. */
  #flights: Flight[] = [];
  #first = 0;
  /** Commands of this turn. */
  #unwritten = "";
  #isAscii = true;
  #isOver = false;
  #lost: (failure: RedisFailure) => void;
  readonly #opened: Promise<void>;

  /** @param lost called once if an open connection ends by itself. */
  constructor(endpoint: RedisEndpoint, options: ConnectionOptions, lost: (failure: RedisFailure) => void) {
    const { tls } = options;
    const place =
      "path" in endpoint ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port ?? PORT_DEFAULT };
    const common = { ...place, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
    this.#socket = tls === null ? connectSocket(common) : connectTls({ ...tls, ...common });
    this.#lost = lost;
    this.#opened = new Promise((resolve, reject) => {
      this.#lost = reject;
      this.#socket.once(tls === null ? "connect" : "secureConnect", () => {
        this.#greet(options).then(() => {
          this.#lost = lost;
          resolve();
        }, reject);
      });
    });
    // Whoever does not wait for it is told by `opened` later, or not at all.
    this.#opened.catch(() => {});
    this.#socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#socket.on("error", (error) => this.#end(failureOf(error)));
    this.#socket.on("close", () =>
      this.#end(new RedisFailure("connection", "the connection was closed by the other side")),
    );
  }

  /** Resolves when the server has let this user in. */
  opened(): Promise<void> {
    return this.#opened;
  }

  /** When the oldest command was sent that waits for its reply or its deadline. */
  get oldestMs(): number | undefined {
    for (let i = this.#first; i < this.#flights.length; i++) {
      const { settle, sentMs } = this.#flights[i]!;
      if (settle !== null) return sentMs;
    }
    return undefined;
  }

  /** Sends a command, once. A connection that is over, or has too much under way, settles it at once. */
  send(args: readonly string[], sentMs: number, settle: Settle): void {
    if (this.#isOver) {
      settle(new RedisFailure("connection", "the connection is closed"));
      return;
    }
    const { text, isAscii } = encodeCommand(args);
    const bytes = 2 * text.length;
    const refusal =
      this.#flights.length - this.#first < COMMANDS_MAX
        ? this.#underWay.take(bytes)
        : new RedisFailure("overload", `more than ${COMMANDS_MAX} commands wait for an answer`);
    if (refusal !== null) {
      settle(refusal);
      return;
    }
    this.#flights.push({ sentMs, bytes, settle });
    if (this.#unwritten === "") void Promise.resolve().then(() => this.#write());
    this.#unwritten += text;
    this.#isAscii &&= isAscii;
  }

  /** Settles the commands that were sent until then; says when the last of them was sent. */
  expire(untilMs: number, failure: RedisFailure): number | undefined {
    let lastMs: number | undefined;
    for (let i = this.#first; i < this.#flights.length; i++) {
      const flight = this.#flights[i]!;
      if (flight.sentMs > untilMs) break;
      const { settle } = flight;
      if (settle === null) continue;
      flight.settle = null;
      lastMs = flight.sentMs;
      settle(failure);
    }
    return lastMs;
  }

  /** Ends the connection; what waits on it fails. */
  destroy(): void {
    this.#lost = () => {};
    this.#end(new RedisFailure("connection", "the connection was closed"));
  }

  async #greet({ username, password, database }: ConnectionOptions): Promise<void> {
    const auth =
      password === undefined && username === undefined ? [] : ["AUTH", username ?? "default", password ?? ""];
    await Promise.all([
      this.#ask(["HELLO", "2", ...auth]),
      ...(database === 0 ? [] : [this.#ask(["SELECT", String(database)])]),
    ]);
  }

  #ask(args: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.send(args, 0, (reply) => (reply instanceof RedisFailure ? reject(reply) : resolve()));
    });
  }

  #write(): void {
    const text = this.#unwritten;
    const encoding = this.#isAscii ? "latin1" : "utf8";
    this.#unwritten = "";
    this.#isAscii = true;
    if (!this.#isOver) this.#socket.write(text, encoding);
  }

  #receive(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      this.#reader.push(chunk, (reply) => this.#settle(reply));
    } catch (error) {
      this.#end(failureOf(error));
    }
  }

  #settle(reply: unknown): void {
    const flight = this.#flights[this.#first];
    if (flight === undefined) throw new RedisFailure("junk", "a reply to no command");
    this.#first++;
    if (this.#first >= SETTLED_MAX || this.#first === this.#flights.length) {
      this.#flights.splice(0, this.#first);
      this.#first = 0;
    }
    this.#underWay.give(flight.bytes);
    flight.settle?.(reply);
  }

  #end(failure: RedisFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.destroy();
    const flights = this.#flights.slice(this.#first);
    this.#flights = [];
    this.#first = 0;
    this.#lost(failure);
    for (const { settle } of flights) settle?.(failure);
  }
}
