/**
 * The origin on Redis: what the port asks for, as script calls.
 *
 * Calls that are made in one turn travel together: up to 64 cells a command, on one connection, in order. A Cluster's commands
 * speak of one hash slot each. Commands are sent once; only one that a server has refused to execute (it does not have the
 * script, or the slot) goes out again. All of them are re-sendable all the same: totals are absolute.
 *
 * Of a call whose commands fail in part, the rest stands: a Cluster's node that is away keeps nothing from the others.
 *
 * Neither limits nor retries nor a breaker are here: that is the regional layer's (origin-calls.ts).
 */
import type { Environment } from "../../core/clock.ts";
import type { ConnectionEvent, Origin, OriginCount, OriginHealth, Raise, Read } from "../origin.ts";
import { componentField, RedisCellNames } from "./cell.ts";
import { ClusterRoute } from "./cluster.ts";
import { failureOf, RedisFailure } from "./failure.ts";
import { ioredisDriver, isIoredis } from "./ioredis-client.ts";
import { type LinkListener, NOT_CONNECTED } from "./link.ts";
import type { RedisSettings } from "./options.ts";
import { ClientRoute, masterOf, type RedisRoute, redisDriver, SingleRoute } from "./route.ts";
import { commandOf, countsOf, RAISE, READ, type Script, type ScriptCall, UNKNOWN } from "./script.ts";

/** Cells a command speaks of at most: enough to make its overhead small, and done within a tenth of a millisecond. */
const CELLS_PER_COMMAND = 64;
const HEARTBEAT = "heartbeat:";

/** What somebody waits for: several cells at once. */
interface Waiting {
  readonly answers: OriginCount[];
  left: number;
  /** Whether anything of it was answered. */
  isAnswered: boolean;
  resolve(answers: readonly OriginCount[]): void;
  reject(failure: RedisFailure): void;
}

/** One cell of a call. */
interface Item {
  readonly waiting: Waiting;
  readonly index: number;
  readonly key: string;
  readonly args: readonly string[];
}

export class RedisOrigin implements Origin {
  readonly #names: RedisCellNames;
  readonly #route: RedisRoute;
  readonly #queues: Map<Script, Item[]> = new Map();
  readonly #failures = new Map<string, number>();
  readonly #listeners = new Set<(event: ConnectionEvent) => void>();
  #mark = 0;
  #commands = 0;
  #scriptLoads = 0;
  #connects = 0;
  #lastFailure: OriginHealth["lastFailure"] = null;

  constructor(settings: RedisSettings, environment: Environment) {
    this.#names = new RedisCellNames(settings.keyPrefix);
    this.#route = routeOf(settings, environment, {
      connected: (address) => {
        this.#connects++;
        this.#emit({ kind: "connected", address });
      },
      failed: (failure, address) => {
        this.#count(failure);
        this.#emit({ kind: "disconnected", address, failure: failure.kind, message: failure.message });
      },
    });
  }

  raise(raises: readonly Raise[]): Promise<readonly OriginCount[]> {
    return this.#ask(RAISE, raises, ({ writer, total, expiresAtMs }) => [
      componentField(writer),
      String(total),
      String(Math.ceil(expiresAtMs)),
    ]);
  }

  read(reads: readonly Read[]): Promise<readonly OriginCount[]> {
    return this.#ask(READ, reads, ({ writer }) => [componentField(writer)]);
  }

  async close(): Promise<void> {
    this.#route.close();
  }

  health(): OriginHealth {
    return {
      isConnected: this.#route.isReady,
      commands: this.#commands,
      connects: this.#connects,
      scriptLoads: this.#scriptLoads,
      failures: Object.fromEntries(this.#failures),
      lastFailure: this.#lastFailure,
    };
  }

  listen(listener: (event: ConnectionEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #ask<Cell extends Read>(
    script: Script,
    cells: readonly Cell[],
    argsOf: (cell: Cell) => readonly string[],
  ): Promise<readonly OriginCount[]> {
    if (cells.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { answers: [], left: 0, isAnswered: false, resolve, reject };
      const queue = this.#queueOf(script);
      cells.forEach((cell, index) => {
        const name = this.#names.of(cell.key, cell.sequence);
        const args = argsOf(cell);
        const keys = cell.key.startsWith(HEARTBEAT) ? this.#route.spread(name) : [name];
        waiting.left += keys.length;
        for (const key of keys) queue.push({ waiting, index, key, args });
      });
    });
  }

  /** What is asked for in this turn goes out at its end. */
  #queueOf(script: Script): Item[] {
    let queue = this.#queues.get(script);
    if (queue === undefined) {
      queue = [];
      this.#queues.set(script, queue);
      void Promise.resolve().then(() => this.#flush(script));
    }
    return queue;
  }

  #flush(script: Script): void {
    const items = this.#queues.get(script) ?? [];
    this.#queues.delete(script);
    const groups = new Map<number | null, Item[]>();
    for (const item of items) {
      const group = this.#route.groupOf(item.key);
      let members = groups.get(group);
      if (members === undefined || members.length === CELLS_PER_COMMAND) {
        if (members !== undefined) this.#send(script, members);
        members = [];
        groups.set(group, members);
      }
      members.push(item);
    }
    for (const members of groups.values()) this.#send(script, members);
  }

  #send(script: Script, items: readonly Item[]): void {
    const mark = String(++this.#mark);
    const keys = items.map(({ key }) => key);
    const call: ScriptCall = { script, mark, keys, args: items.flatMap(({ args }) => args) };
    this.#execute(call).then(
      (counts) => {
        items.forEach((item, i) => {
          settle(item, counts[i]!);
        });
      },
      (error: unknown) => {
        const failure = failureOf(error);
        this.#count(failure);
        for (const item of items) settle(item, failure);
      },
    );
  }

  async #execute(call: ScriptCall): Promise<readonly OriginCount[]> {
    const [key = ""] = call.keys;
    this.#commands++;
    const answer = await this.#route.send(key, commandOf(call, false)).catch((error: unknown) => {
      if (!failureOf(error).message.startsWith("NOSCRIPT")) throw error;
      // It was not executed. The whole text goes out, and the server keeps it.
      this.#commands++;
      this.#scriptLoads++;
      return this.#route.send(key, commandOf(call, true));
    });
    try {
      return countsOf(call, answer, (failure) => this.#count(failure));
    } catch (error) {
      const failure = failureOf(error);
      if (failure.kind === "junk") this.#route.distrust(key, failure);
      throw failure;
    }
  }

  #count({ kind, message }: RedisFailure): void {
    this.#failures.set(kind, (this.#failures.get(kind) ?? 0) + 1);
    // That there is no connection is known; why there is none must not be hidden by it.
    if (message !== NOT_CONNECTED || this.#lastFailure === null) this.#lastFailure = { kind, message };
  }

  #emit(event: ConnectionEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // Who listens is not asked about counts, and must not disturb them.
      }
    }
  }
}

/** A cell that stands on several servers is what the least of them says: a loss anywhere shows, and so does silence. */
function settle({ waiting, index }: Item, outcome: OriginCount | RedisFailure): void {
  const isCount = !(outcome instanceof RedisFailure);
  const count = isCount ? outcome : UNKNOWN;
  const known = waiting.answers[index];
  if (known === undefined || known.sum > count.sum || Number.isNaN(count.sum)) waiting.answers[index] = count;
  waiting.isAnswered ||= isCount;
  waiting.left--;
  if (waiting.left > 0) return;
  if (waiting.isAnswered || isCount) waiting.resolve(waiting.answers);
  else waiting.reject(outcome);
}

function routeOf(settings: RedisSettings, environment: Environment, listener: LinkListener): RedisRoute {
  const { place, commandTimeoutMs } = settings;
  switch (place.kind) {
    case "client":
      return new ClientRoute(
        isIoredis(place.client) ? ioredisDriver(place.client) : redisDriver(place.client),
        commandTimeoutMs,
        environment,
      );
    case "cluster":
      return new ClusterRoute(place.nodes, settings, environment, listener);
    case "sentinel":
      return new SingleRoute(masterOf(place.sentinels, settings, environment), settings, environment, listener);
    case "server":
      return new SingleRoute(async () => place.address, settings, environment, listener);
  }
}
