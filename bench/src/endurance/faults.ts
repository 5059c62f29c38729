/** What happens to the stores, one after the other, while the server is asked. Every trouble ends as it began: with a store that is well. */
import type { MariadbServer } from "../../../test/rig/mariadb-server.ts";
import type { RedisServer } from "../../../test/rig/redis-server.ts";
import type { TcpFaultProxy } from "../../../test/rig/tcp-fault-proxy.ts";

export interface Stores {
  readonly redis: RedisServer;
  readonly mariadb: MariadbServer;
  /** What stands between the server and each of them. */
  readonly redisProxy: TcpFaultProxy;
  readonly mariadbProxy: TcpFaultProxy;
}

export interface Fault {
  readonly name: string;
  begin(stores: Stores): unknown;
  /** Where it lasts. */
  end?(stores: Stores): unknown;
}

/** Each direction. A read of the origin has 300 ms. */
const SLOW_MS = 100;

export const FAULTS: readonly Fault[] = [
  {
    name: "Redis killed, and started again empty",
    begin: ({ redis }) => redis.kill(),
    end: ({ redis }) => redis.begin(),
  },
  {
    name: "MariaDB killed, and started again",
    begin: ({ mariadb }) => mariadb.process.kill(),
    end: ({ mariadb }) => mariadb.process.begin(),
  },
  { name: "Redis frozen", begin: ({ redis }) => redis.freeze(), end: ({ redis }) => redis.thaw() },
  {
    name: "MariaDB frozen",
    begin: ({ mariadb }) => mariadb.process.freeze(),
    end: ({ mariadb }) => mariadb.process.thaw(),
  },
  { name: "Redis flushed", begin: ({ redis }) => redis.ask("FLUSHALL") },
  { name: "MariaDB's counters truncated", begin: ({ mariadb }) => mariadb.ask("TRUNCATE TABLE sluice_counters") },
  { name: "Redis's connections cut", begin: ({ redisProxy }) => redisProxy.reset() },
  { name: "MariaDB's connections cut", begin: ({ mariadbProxy }) => mariadbProxy.reset() },
  {
    name: `Redis slow, ${SLOW_MS} ms each way`,
    begin: ({ redisProxy }) => {
      redisProxy.delayMs = SLOW_MS;
    },
    end: ({ redisProxy }) => {
      redisProxy.delayMs = 0;
    },
  },
];

export const CALM = "calm";

/** Strikes one fault after the other, until it is stopped. `phase` says what to charge a request with that is due now. */
export class FaultTurns {
  phase: string = CALM;
  struck = 0;
  /** Faults that could not be made, or not be ended. */
  failed = 0;
  readonly #stores: Stores;
  readonly #everyMs: number;
  readonly #log: (line: string) => void;
  #isStopped = false;
  #wake: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(stores: Stores, everyMs: number, log: (line: string) => void) {
    this.#stores = stores;
    this.#everyMs = everyMs;
    this.#log = log;
  }

  begin(): void {
    this.#running = this.#run();
  }

  /** Resolves when the fault under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    // A third of the time a fault lasts, in the next it is being got over, the last is calm.
    const thirdMs = this.#everyMs / 3;
    await this.#pause(thirdMs);
    while (!this.#isStopped) {
      const beganMs = performance.now();
      const fault = FAULTS[this.struck++ % FAULTS.length]!;
      this.phase = fault.name;
      await this.#try(fault.name, () => fault.begin(this.#stores));
      await this.#pause(thirdMs);
      await this.#try(fault.name, () => fault.end?.(this.#stores));
      await this.#pause(thirdMs);
      this.phase = CALM;
      await this.#pause(Math.max(thirdMs / 2, beganMs + this.#everyMs - performance.now()));
    }
  }

  /** A store that does not come back in time on a busy machine must not end the run. */
  async #try(name: string, act: () => unknown): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.failed++;
      this.#log(`${name}: ${String(error)}`);
    }
  }

  #pause(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
