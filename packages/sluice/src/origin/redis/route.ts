/**
 * Where commands go: to one server, to whichever server the Sentinels name, or through a client that somebody else owns. A
 * Cluster has a file of its own.
 */

import type { Environment } from "../../core/clock.ts";
import { type Pending, withDeadline } from "../../core/deadline.ts";
import type { ClientDriver } from "./client-driver.ts";
import { CommandBytes } from "./command-bytes.ts";
import type { RedisEndpoint } from "./connection.ts";
import { failureOf, RedisFailure } from "./failure.ts";
import { type LinkListener, type LinkOptions, RedisLink } from "./link.ts";
import type { RedisClient, RedisSentinels } from "./options.ts";

export interface RedisRoute {
  readonly isReady: boolean;
  /** Whether its connections are made here, so that a new one is known to be new. */
  readonly isOwn: boolean;
  /** Whether a command may be sent again although its server may have executed it. */
  readonly mayResend: boolean;
  /** What keys must have in common to go into one command; null: nothing. Of a Cluster, the hash slot. */
  groupOf(key: string): number | null;
  /** The keys, one a server, that stand for this one: more than one where there are several servers to watch. */
  spread(key: string): readonly string[];
  /** Sends a command that touches `key`, once. Rejects with a RedisFailure. */
  send(key: string, args: readonly string[]): Promise<unknown>;
  /** The answer to a command on `key` was not one: whatever comes next on its connection is not to be believed. */
  distrust(key: string, failure: RedisFailure): void;
  close(): void;
}

/** Receives the changes of connections, and of the servers behind them. */
export interface RouteListener extends LinkListener {
  /** Another server answers for some keys from now on. */
  moved(): void;
}

/** One server at a time: named, or found anew for each connection. */
export class SingleRoute implements RedisRoute {
  readonly isOwn = true;
  readonly mayResend = false;
  readonly #link: RedisLink;

  constructor(
    endpoint: () => Promise<RedisEndpoint>,
    options: LinkOptions,
    environment: Environment,
    listener: LinkListener,
  ) {
    this.#link = new RedisLink(endpoint, options, environment, listener);
  }

  get isReady(): boolean {
    return this.#link.isReady;
  }

  groupOf(): null {
    return null;
  }

  spread(key: string): readonly string[] {
    return [key];
  }

  send(_key: string, args: readonly string[]): Promise<unknown> {
    return this.#link.send(args);
  }

  distrust(_key: string, failure: RedisFailure): void {
    this.#link.drop(failure);
  }

  close(): void {
    this.#link.close();
  }
}

const SENTINEL_PORT = 26_379;

/** Asks the Sentinels, one after the other, who the master is. */
export function masterOf(
  { name, nodes, username, password }: RedisSentinels,
  options: LinkOptions,
  environment: Environment,
): () => Promise<RedisEndpoint> {
  let first = 0;
  return async () => {
    let last = new RedisFailure("connection", "no Sentinel responds");
    for (let i = 0; i < nodes.length; i++) {
      const at = (first + i) % nodes.length;
      const { host, port = SENTINEL_PORT } = nodes[at]!;
      try {
        const master = await askOnce(
          { host, port },
          { ...options, username, password, database: 0 },
          environment,
          name,
        );
        first = at;
        return master;
      } catch (error) {
        last = failureOf(error);
      }
    }
    throw last;
  };
}

async function askOnce(
  endpoint: RedisEndpoint,
  options: LinkOptions,
  environment: Environment,
  name: string,
): Promise<RedisEndpoint> {
  let link: RedisLink | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      link = new RedisLink(async () => endpoint, options, environment, { connected: () => resolve(), failed: reject });
    });
    const answer = await link?.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]);
    if (!Array.isArray(answer) || answer.length !== 2) {
      throw new RedisFailure("other", `the Sentinel does not know a master named ${name}`);
    }
    return { host: String(answer[0]), port: Number(answer[1]) };
  } finally {
    link?.close();
  }
}

/** One of `@redis/client`: its three kinds take their arguments in three ways. */
export function redisDriver(
  client: RedisClient & { readonly isReady?: boolean; readonly isOpen?: boolean },
): ClientDriver {
  const isCluster = "getSlotRandomNode" in client;
  const isSentinel = !isCluster && "getMasterNode" in client;
  return {
    isCluster,
    // A command whose connection was lost goes to the next master, and nobody is told that there were two.
    mayResend: isSentinel,
    get isReady() {
      return (isCluster ? client.isOpen : client.isReady) !== false;
    },
    send(key, args) {
      if (isCluster) return client.sendCommand(key, false, args);
      return isSentinel ? client.sendCommand(false, args) : client.sendCommand(args);
    },
  };
}

export class ClientRoute implements RedisRoute {
  readonly isOwn = false;
  readonly #driver: ClientDriver;
  readonly #timeoutMs: number;
  readonly #environment: Environment;
  readonly #pending: Pending = new Set();
  readonly #underWay = new CommandBytes();

  constructor(driver: ClientDriver, timeoutMs: number, environment: Environment) {
    this.#driver = driver;
    this.#timeoutMs = timeoutMs;
    this.#environment = environment;
  }

  get isReady(): boolean {
    return this.#driver.isReady;
  }

  get mayResend(): boolean {
    return this.#driver.mayResend;
  }

  /** A Cluster client is given one key's cells at a time: it looks for the slot by itself. */
  groupOf(key: string): number | null {
    return this.#driver.isCluster ? slotOf(key) : null;
  }

  spread(key: string): readonly string[] {
    return [key];
  }

  async send(key: string, args: readonly string[]): Promise<unknown> {
    // Its queue for better times would send what has long been sent again.
    if (!this.isReady) throw new RedisFailure("connection", "the client is not connected");
    const start = () => this.#underWay.run(args, () => this.#driver.send(key, args));
    const outcome = await withDeadline(start, this.#timeoutMs, this.#environment.timers, this.#pending);
    if (outcome.kind === "done") return outcome.value;
    if (outcome.kind === "failed") throw failureOf(outcome.error);
    throw new RedisFailure("timeout", `no response within ${this.#timeoutMs} ms`);
  }

  distrust(): void {}

  close(): void {
    for (const expire of this.#pending) expire();
  }
}

const SLOTS = 16_384;

/** The hash slot of a key, as a Redis Cluster counts it: CRC16 (XMODEM) of the part in braces. */
export function slotOf(key: string): number {
  const open = key.indexOf("{");
  const close = open === -1 ? -1 : key.indexOf("}", open + 1);
  const tag = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80_00 ? (crc << 1) ^ 0x10_21 : crc << 1;
  }
  return (crc & 0xff_ff) % SLOTS;
}
