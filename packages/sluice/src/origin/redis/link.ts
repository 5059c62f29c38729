/**
 * A connection to one Redis server that is made again whenever it is lost.
 *
 * Invariants: a command is sent once, or not at all; it settles within its deadline; nothing waits for a connection that is not
 * there, but for the very first, which a process that starts may wait for. A connection without a reply for a whole deadline, or with an
 * impossible reply, is closed with all commands in flight: later replies could no longer be matched to commands.
 *
 * One timer serves the deadlines of all commands: they are as long for each, so the oldest ends first.
 */
import type { Environment } from "../../core/clock.ts";
import { type Pending, withDeadline } from "../../core/deadline.ts";
import { Alarm } from "../../core/repeat.ts";
import { type ConnectionOptions, RedisConnection, type RedisEndpoint } from "./connection.ts";
import { failureOf, RedisFailure, type RedisFailureKind } from "./failure.ts";

export interface LinkOptions extends ConnectionOptions {
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
}

/** Receives the changes of a connection. */
export interface LinkListener {
  connected(address: string): void;
  /** A connection was lost, or could not be made. */
  failed(failure: RedisFailure, address: string): void;
}

export const NOT_CONNECTED = "not connected to Redis";

const RETRY_MIN_MS = 25;
const RETRY_MAX_MS = 500;
/** After these failures an immediate retry would fail too. */
const REFUSALS: ReadonlySet<RedisFailureKind> = new Set(["auth", "permission", "version", "readonly", "tls"]);
/** After a deadline, what has arrived meanwhile is read first: this process may have been busy itself. */
const GRACE_MS = 20;

export class RedisLink {
  readonly #endpoint: () => Promise<RedisEndpoint>;
  readonly #options: LinkOptions;
  readonly #environment: Environment;
  readonly #listener: LinkListener;
  readonly #pending: Pending = new Set();
  /** Connected, or about to be. */
  #connection: RedisConnection | null = null;
  #isReady = false;
  #isClosed = false;
  #address = "";
  #retries = 0;
  /** The number of the attempt to connect that counts: one that was given up may still be looking for its server. */
  #attempt = 0;
  readonly #retry: Alarm;
  readonly #deadline: Alarm;
  #repliedMs = 0;
  /** The first attempt to connect, while it is under way. */
  #first: Promise<void> | null = null;

  constructor(
    endpoint: () => Promise<RedisEndpoint>,
    options: LinkOptions,
    environment: Environment,
    listener: LinkListener,
  ) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#environment = environment;
    this.#retry = new Alarm(environment.timers);
    this.#deadline = new Alarm(environment.timers);
    this.#listener = listener;
    this.#first = this.#connect().then(() => {
      this.#first = null;
    });
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Sends one command, once. Rejects with a RedisFailure. */
  send(args: readonly string[]): Promise<unknown> {
    return this.#first === null ? this.#sendNow(args) : this.#first.then(() => this.#sendNow(args));
  }

  /** Gives the connection up, and makes another one. */
  drop(failure: RedisFailure, connection: RedisConnection | null = this.#connection): void {
    if (connection === null || connection !== this.#connection) return;
    this.#connection = null;
    this.#isReady = false;
    connection.destroy();
    if (this.#isClosed) return;
    this.#listener.failed(failure, this.#address);
    this.#reconnectLater(failure.kind);
  }

  close(): void {
    this.#isClosed = true;
    this.#isReady = false;
    this.#retry.clear();
    this.#deadline.clear();
    for (const expire of this.#pending) expire();
    this.#connection?.expire(Number.POSITIVE_INFINITY, this.#late());
    this.#connection?.destroy();
    this.#connection = null;
  }

  #sendNow(args: readonly string[]): Promise<unknown> {
    const connection = this.#connection;
    if (connection === null || !this.#isReady) {
      return Promise.reject(new RedisFailure("connection", NOT_CONNECTED));
    }
    return new Promise((resolve, reject) => {
      const { clock } = this.#environment;
      connection.send(args, clock.monoMs(), (reply) => {
        if (!(reply instanceof RedisFailure)) {
          this.#repliedMs = clock.monoMs();
          resolve(reply);
          return;
        }
        // These are detected here. All others are replies of the server.
        const isReply = reply.kind !== "connection" && reply.kind !== "overload" && reply.kind !== "timeout";
        if (isReply) this.#repliedMs = clock.monoMs();
        if (reply.kind === "readonly") this.drop(reply, connection);
        reject(reply);
      });
      this.#deadline.set(() => this.#expire(), this.#options.commandTimeoutMs);
    });
  }

  /** Settles the commands whose deadline has passed, and waits for the next one. */
  #expire(): void {
    const connection = this.#connection;
    if (connection === null) return;
    const { clock, timers } = this.#environment;
    const { commandTimeoutMs } = this.#options;
    const nowMs = clock.monoMs();
    const sentMs = connection.expire(nowMs - commandTimeoutMs, this.#late());
    if (sentMs !== undefined) {
      timers.set(() => {
        if (this.#repliedMs < sentMs) this.drop(new RedisFailure("timeout", "Redis does not respond"), connection);
      }, GRACE_MS);
    }
    const oldestMs = connection.oldestMs;
    if (oldestMs !== undefined) this.#deadline.set(() => this.#expire(), oldestMs + commandTimeoutMs - nowMs);
  }

  #late(): RedisFailure {
    return new RedisFailure("timeout", `no response within ${this.#options.commandTimeoutMs} ms`);
  }

  async #connect(): Promise<void> {
    const { timers } = this.#environment;
    const { connectTimeoutMs } = this.#options;
    const attempt = ++this.#attempt;
    const outcome = await withDeadline(() => this.#begin(attempt), connectTimeoutMs, timers, this.#pending);
    if (this.#isClosed) {
      this.close();
      return;
    }
    if (outcome.kind === "done") {
      // It may have been lost again before anybody could look.
      if (this.#connection === null) return;
      this.#isReady = true;
      this.#retries = 0;
      this.#repliedMs = this.#environment.clock.monoMs();
      this.#listener.connected(this.#address);
      return;
    }
    this.#attempt++;
    const late = new RedisFailure("timeout", `no connection within ${connectTimeoutMs} ms`);
    const failure = outcome.kind === "failed" ? failureOf(outcome.error) : late;
    if (this.#connection !== null) {
      this.drop(failure);
      return;
    }
    // The connection was lost, and a next attempt is under way; or there was none yet.
    if (this.#retry.isSet) return;
    this.#listener.failed(failure, this.#address);
    this.#reconnectLater(failure.kind);
  }

  async #begin(attempt: number): Promise<void> {
    const endpoint = await this.#endpoint();
    if (this.#isClosed || attempt !== this.#attempt) return;
    this.#address = "path" in endpoint ? endpoint.path : `${endpoint.host}:${endpoint.port ?? ""}`;
    const connection = new RedisConnection(endpoint, this.#options, (failure) => this.drop(failure, connection));
    this.#connection = connection;
    await connection.opened();
  }

  /** Later each time, up to half a second, and not in step with other processes. */
  #reconnectLater(kind: RedisFailureKind): void {
    const { random } = this.#environment;
    const baseMs = REFUSALS.has(kind) ? RETRY_MAX_MS : Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.#retries);
    this.#retries = Math.min(this.#retries + 1, 10);
    const delayMs = baseMs * (0.5 + random.uint32() / 2 ** 33);
    this.#retry.set(() => void this.#connect(), delayMs);
  }
}
