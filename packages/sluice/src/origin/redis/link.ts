/**
 * One connection to one Redis server, made again whenever it is lost.
 *
 * Invariants: a command is sent once, or not at all; it settles within its deadline; nothing waits for a connection that is not
 * there, but for the very first, which a process that starts may wait for. A connection without a reply for a whole deadline, or with an
 * impossible reply, is closed with all commands in flight: later replies could no longer be matched to commands.
 *
 * The client under it is used for its wire format only: reconnecting, queueing and deadlines are here, because its own would
 * send commands again, or wait for ever on a server that is frozen.
 */
import { createClient } from "@redis/client";
import type { Environment } from "../../core/clock.ts";
import { type Pending, withDeadline } from "../../core/deadline.ts";
import { Alarm } from "../../core/repeat.ts";
import { CommandBytes } from "./command-bytes.ts";
import { failureOf, RedisFailure, type RedisFailureKind } from "./failure.ts";
import type { RedisAddress, RedisTls } from "./options.ts";

export type RedisEndpoint = RedisAddress | { readonly path: string };

export interface LinkOptions {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: RedisTls | null;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
}

/** Receives the changes of a connection. */
export interface LinkListener {
  connected(address: string): void;
  /** A connection was lost, or could not be made. */
  failed(failure: RedisFailure, address: string): void;
}

/** A client that is connected, or about to be. */
type Client = Pick<ReturnType<typeof createClient>, "sendCommand" | "connect" | "destroy" | "on">;

export const NOT_CONNECTED = "not connected to Redis";

const RETRY_MIN_MS = 25;
const RETRY_MAX_MS = 500;
/** After these failures an immediate retry would fail too. */
const REFUSALS: ReadonlySet<RedisFailureKind> = new Set(["auth", "permission", "version", "readonly", "tls"]);
/** Commands on their way. Each speaks of up to 64 cells; more than this is never useful. */
const COMMANDS_MAX = 20_000;
/** After a deadline, what has arrived meanwhile is read first: this process may have been busy itself. */
const GRACE_MS = 20;

export class RedisLink {
  readonly #endpoint: () => Promise<RedisEndpoint>;
  readonly #options: LinkOptions;
  readonly #environment: Environment;
  readonly #listener: LinkListener;
  readonly #pending: Pending = new Set();
  readonly #underWay = new CommandBytes();
  #client: Client | null = null;
  #isReady = false;
  #isClosed = false;
  #address = "";
  #retries = 0;
  /** The number of the attempt to connect that counts: one that was given up may still be looking for its server. */
  #attempt = 0;
  readonly #retry: Alarm;
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
    this.#listener = listener;
    this.#first = this.#connect().then(() => {
      this.#first = null;
    });
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Sends one command, once. Rejects with a RedisFailure. */
  async send(args: readonly string[]): Promise<unknown> {
    if (this.#first !== null) await this.#first;
    const client = this.#client;
    if (client === null || !this.#isReady) throw new RedisFailure("connection", NOT_CONNECTED);
    const { clock, timers } = this.#environment;
    const sentMs = clock.monoMs();
    const start = () => this.#underWay.run(args, () => client.sendCommand(args as string[]));
    const outcome = await withDeadline(start, this.#options.commandTimeoutMs, timers, this.#pending);
    if (outcome.kind === "done") {
      this.#repliedMs = clock.monoMs();
      return outcome.value;
    }
    if (outcome.kind === "failed") {
      const failure = failureOf(outcome.error);
      // An overload is detected here, not reported by the server.
      if (failure.kind !== "connection" && failure.kind !== "overload") this.#repliedMs = clock.monoMs();
      if (failure.kind === "readonly") this.drop(failure, client);
      throw failure;
    }
    timers.set(() => {
      if (this.#repliedMs < sentMs) this.drop(new RedisFailure("timeout", "Redis does not respond"), client);
    }, GRACE_MS);
    throw new RedisFailure("timeout", `no response within ${this.#options.commandTimeoutMs} ms`);
  }

  /** Gives the connection up, and makes another one. */
  drop(failure: RedisFailure, client: Client | null = this.#client): void {
    if (client === null || client !== this.#client) return;
    this.#client = null;
    this.#isReady = false;
    client.destroy();
    if (this.#isClosed) return;
    this.#listener.failed(failure, this.#address);
    this.#reconnectLater(failure.kind);
  }

  close(): void {
    this.#isClosed = true;
    this.#isReady = false;
    this.#retry.clear();
    for (const expire of this.#pending) expire();
    this.#client?.destroy();
    this.#client = null;
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
      if (this.#client === null) return;
      this.#isReady = true;
      this.#retries = 0;
      this.#repliedMs = this.#environment.clock.monoMs();
      this.#listener.connected(this.#address);
      return;
    }
    this.#attempt++;
    const late = new RedisFailure("timeout", `no connection within ${connectTimeoutMs} ms`);
    const failure = outcome.kind === "failed" ? failureOf(outcome.error) : late;
    if (this.#client !== null) {
      this.drop(failure);
      return;
    }
    // The client complained by itself, and a next attempt is under way; or there was no client yet.
    if (this.#retry.isSet) return;
    this.#listener.failed(failure, this.#address);
    this.#reconnectLater(failure.kind);
  }

  async #begin(attempt: number): Promise<void> {
    const endpoint = await this.#endpoint();
    if (this.#isClosed || attempt !== this.#attempt) return;
    this.#address = "path" in endpoint ? endpoint.path : `${endpoint.host}:${endpoint.port ?? ""}`;
    const client = this.#create(endpoint);
    this.#client = client;
    client.on("error", (error: unknown) => this.drop(failureOf(error), client));
    await client.connect();
  }

  #create(endpoint: RedisEndpoint): Client {
    const { username, password, database, tls, connectTimeoutMs } = this.#options;
    const place = "path" in endpoint ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port ?? 6379 };
    return createClient({
      socket: {
        ...place,
        ...(tls === null ? {} : { ...tls, tls: true }),
        connectTimeout: connectTimeoutMs,
        reconnectStrategy: false,
      } as NonNullable<Parameters<typeof createClient>[0]>["socket"] & object,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      database,
      RESP: 3,
      disableOfflineQueue: true,
      disableClientInfo: true,
      commandsQueueMaxLength: COMMANDS_MAX,
      maintNotifications: "disabled",
      // Its own deadline costs a timer a command, and does not fire while the server is frozen.
      commandOptions: { timeout: 0 },
    });
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
