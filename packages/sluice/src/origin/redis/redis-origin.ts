/**
 * The origin on Redis: what the port asks for, as script calls (questions.ts) that travel together (outbox.ts).
 *
 * Neither limits nor retries nor a breaker are here: that is the regional layer's (origin-calls.ts).
 */
import type { Environment } from "../../core/clock.ts";
import type { Free, Freed, Held, Hold } from "../hold.ts";
import type { Admit, Admitted, ConnectionEvent, Origin, OriginCount, OriginHealth, Raise, Read } from "../origin.ts";
import { RedisCellNames } from "./cell.ts";
import { ClusterRoute } from "./cluster.ts";
import type { RedisFailure } from "./failure.ts";
import { ioredisDriver, isIoredis } from "./ioredis-client.ts";
import { NOT_CONNECTED } from "./link.ts";
import type { RedisSettings } from "./options.ts";
import { Outbox, type OutboxListener } from "./outbox.ts";
import { ADMIT, RAISE, READ, READ_HOLDS } from "./questions.ts";
import { RedisHolds } from "./redis-holds.ts";
import { ClientRoute, masterOf, type RedisRoute, type RouteListener, redisDriver, SingleRoute } from "./route.ts";

export class RedisOrigin implements Origin {
  readonly #route: RedisRoute;
  readonly #raises: Outbox<Raise, OriginCount>;
  readonly #reads: Outbox<Read, OriginCount>;
  readonly #holdReads: Outbox<Read, OriginCount>;
  /** Absent with a client that may send a command again although its server may have executed it. */
  readonly admit?: (admits: readonly Admit[]) => Promise<readonly Admitted[]>;
  readonly hold?: (hold: Hold) => Promise<Held>;
  readonly free?: (frees: readonly Free[], atMs: number) => Promise<Freed>;
  readonly #knowsItsLife: boolean;
  readonly #failures = new Map<string, number>();
  readonly #listeners = new Set<(event: ConnectionEvent) => void>();
  #commands = 0;
  #scriptLoads = 0;
  #connects = 0;
  #life = 0;
  #lastFailure: OriginHealth["lastFailure"] = null;

  constructor(settings: RedisSettings, environment: Environment) {
    this.#route = routeOf(settings, environment, {
      connected: (address) => {
        this.#life++;
        this.#connects++;
        this.#emit({ kind: "connected", address });
      },
      failed: (failure, address) => {
        this.#life++;
        this.#count(failure);
        this.#emit({ kind: "disconnected", address, failure: failure.kind, message: failure.message });
      },
      moved: () => {
        this.#life++;
      },
    });
    this.#knowsItsLife = this.#route.isOwn && !settings.proxy;
    const names = new RedisCellNames(settings.keyPrefix);
    const listener: OutboxListener = {
      sent: (isWhole) => {
        this.#commands++;
        if (isWhole) this.#scriptLoads++;
      },
      failed: (failure) => this.#count(failure),
    };
    this.#raises = new Outbox(RAISE, names, this.#route, listener);
    this.#reads = new Outbox(READ, names, this.#route, listener);
    this.#holdReads = new Outbox(READ_HOLDS, names, this.#route, listener);
    if (this.#route.mayResend) return;
    const admits = new Outbox(ADMIT, names, this.#route, listener);
    this.admit = (calls) => admits.ask(calls);
    const holds = new RedisHolds(names, this.#route, listener);
    this.hold = (hold) => holds.hold(hold);
    this.free = (frees, atMs) => holds.free(frees, atMs);
  }

  raise(raises: readonly Raise[]): Promise<readonly OriginCount[]> {
    return this.#raises.ask(raises);
  }

  /** The holds of each key are read beside its cells: a hold may outlive the windows that have heard of it. */
  async read(reads: readonly Read[]): Promise<readonly OriginCount[]> {
    const first = new Map(reads.filter(({ key }) => isOfLimit(key)).map((read) => [read.key, read]));
    const held = this.#holdReads.ask([...first.values()]).catch(() => []);
    const counts = await this.#reads.ask(reads);
    const costs = (await held).map(({ sum }) => sum);
    const costOf = new Map([...first.keys()].map((key, i) => [key, costs[i] ?? 0]));
    return counts.map((count, i) => {
      const cost = costOf.get(reads[i]!.key) ?? 0;
      return cost > 0 ? { ...count, holds: { cost, earliestMs: 0, version: 0 } } : count;
    });
  }

  /**
   * A server that was restarted or replaced cannot answer on an old connection. Of connections that somebody else owns nothing is known, and a
   * proxy may keep them while it replaces the servers behind it.
   */
  life(): number | undefined {
    return this.#knowsItsLife ? this.#life : undefined;
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

/** Keys of limits begin with a digit; those that the layers keep for themselves have no holds. */
function isOfLimit(key: string): boolean {
  const first = key.charCodeAt(0);
  return first >= 0x30 && first <= 0x39;
}

function routeOf(settings: RedisSettings, environment: Environment, listener: RouteListener): RedisRoute {
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
