/**
 * A Redis Cluster: a link to every master, and a table of which hash slot is whose.
 *
 * A command that a node answers with MOVED or ASK was not executed: it goes to the node named there, and the table is read anew.
 * Nothing else is ever sent twice.
 *
 * A loss of one node must not be missed because the heartbeat happens to live on another: one heartbeat stands on every node
 * (`spread`).
 */
import type { Environment } from "../../core/clock.ts";
import { Alarm } from "../../core/repeat.ts";
import { failureOf, RedisFailure } from "./failure.ts";
import { type LinkListener, type LinkOptions, RedisLink } from "./link.ts";
import type { RedisAddress } from "./options.ts";
import { type RedisRoute, type RouteListener, slotOf } from "./route.ts";

const REDIRECTS_MAX = 5;
const LOOK_EVERY_MS = 200;

export class ClusterRoute implements RedisRoute {
  readonly isOwn = true;
  readonly mayResend = false;
  readonly #links = new Map<string, RedisLink>();
  readonly #owners: (string | undefined)[] = [];
  #masters: readonly string[] = [];
  /** For each master, a text that hashes into one of its slots. */
  #tags: readonly string[] = [];
  readonly #seeds: readonly RedisAddress[];
  readonly #options: LinkOptions;
  readonly #environment: Environment;
  readonly #listener: LinkListener;
  readonly #moved: () => void;
  #isLooking = false;
  #isClosed = false;
  readonly #retry: Alarm;

  constructor(seeds: readonly RedisAddress[], options: LinkOptions, environment: Environment, listener: RouteListener) {
    this.#seeds = seeds;
    this.#options = options;
    this.#environment = environment;
    this.#retry = new Alarm(environment.timers);
    this.#moved = () => listener.moved();
    this.#listener = {
      connected: (address) => {
        listener.connected(address);
        this.#look();
      },
      failed: (failure, address) => {
        listener.failed(failure, address);
        this.#lookLater();
      },
    };
    for (const { host, port = 6379 } of seeds) this.#linkTo(`${host}:${port}`);
  }

  get isReady(): boolean {
    return this.#masters.length > 0 && this.#masters.every((address) => this.#links.get(address)?.isReady === true);
  }

  groupOf(key: string): number {
    return slotOf(key);
  }

  spread(key: string): readonly string[] {
    if (this.#tags.length === 0) return [key];
    return this.#tags.map((tag) => key.replace(/\{(.*)\}/s, (_, inner: string) => `{${tag}}${inner}`));
  }

  async send(key: string, args: readonly string[]): Promise<unknown> {
    const slot = slotOf(key);
    let address = this.#owners[slot];
    if (address === undefined) throw new RedisFailure("connection", "the Cluster's slots are not known yet");
    let isAsking = false;
    for (let redirects = 0; ; redirects++) {
      const link = this.#linkTo(address);
      try {
        // Both are written in one go: nothing comes between them.
        const asked = isAsking ? link.send(["ASKING"]) : undefined;
        const answer = link.send(args);
        await asked?.catch(() => {});
        return await answer;
      } catch (error) {
        const redirect = redirectOf(failureOf(error).message);
        if (redirect === null || redirects === REDIRECTS_MAX) throw error;
        address = redirect.address.startsWith(":") ? `${hostOf(address)}${redirect.address}` : redirect.address;
        isAsking = redirect.isAsking;
        this.#moved();
        if (isAsking) continue;
        this.#owners[slot] = address;
        this.#look();
      }
    }
  }

  distrust(key: string, failure: RedisFailure): void {
    const owner = this.#owners[slotOf(key)];
    if (owner !== undefined) this.#links.get(owner)?.drop(failure);
  }

  close(): void {
    this.#isClosed = true;
    this.#retry.clear();
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }

  #linkTo(address: string): RedisLink {
    let link = this.#links.get(address);
    if (link === undefined) {
      const endpoint = { host: hostOf(address), port: Number(address.slice(address.lastIndexOf(":") + 1)) };
      link = new RedisLink(async () => endpoint, this.#options, this.#environment, this.#listener);
      this.#links.set(address, link);
    }
    return link;
  }

  /** Reads the table of slots from any node that answers. */
  #look(): void {
    if (this.#isLooking || this.#isClosed) return;
    this.#isLooking = true;
    this.#lookOnce().then(
      () => {
        this.#isLooking = false;
      },
      () => {
        this.#isLooking = false;
        this.#lookLater();
      },
    );
  }

  #lookLater(): void {
    if (!this.#isClosed) this.#retry.set(() => this.#look(), LOOK_EVERY_MS);
  }

  async #lookOnce(): Promise<void> {
    for (const [address, link] of this.#links) {
      if (!link.isReady) continue;
      const ranges = await link.send(["CLUSTER", "SLOTS"]).catch(() => null);
      if (ranges !== null && this.#learn(ranges, hostOf(address))) return;
    }
    throw new RedisFailure("cluster", "no node returns the slots");
  }

  /** Takes in `CLUSTER SLOTS`; false if it is none. */
  #learn(ranges: unknown, asked: string): boolean {
    if (!Array.isArray(ranges) || ranges.length === 0) return false;
    const masters = new Set<string>();
    let hasMoved = false;
    for (const range of ranges as readonly unknown[]) {
      if (!Array.isArray(range) || !Array.isArray(range[2])) return false;
      const [from, to, master] = range as [number, number, readonly unknown[]];
      const host = typeof master[0] === "string" && master[0] !== "" ? master[0] : asked;
      const address = `${host}:${String(master[1])}`;
      for (let slot = from; slot <= to; slot++) {
        hasMoved ||= this.#owners[slot] !== address;
        this.#owners[slot] = address;
      }
      masters.add(address);
    }
    if (hasMoved) this.#moved();
    for (const address of masters) this.#linkTo(address);
    this.#forgetAllBut(masters);
    this.#masters = [...masters];
    this.#tags = this.#masters.map((address) => this.#tagOf(address));
    return true;
  }

  /** Found by trying, and the same again as long as the slots stay where they are. */
  #tagOf(master: string): string {
    for (let i = 0; ; i++) if (this.#owners[slotOf(`h${i}`)] === master) return `h${i}`;
  }

  /** Nodes that own nothing any more; the ones that were named at the start stay, to ask. */
  #forgetAllBut(masters: ReadonlySet<string>): void {
    const seeds = new Set(this.#seeds.map(({ host, port = 6379 }) => `${host}:${port}`));
    for (const [address, link] of this.#links) {
      if (masters.has(address) || seeds.has(address)) continue;
      link.close();
      this.#links.delete(address);
    }
  }
}

function redirectOf(message: string): { readonly address: string; readonly isAsking: boolean } | null {
  const [, word, address] = /^(MOVED|ASK) \d+ (\S*:\d+)/.exec(message) ?? [];
  return address === undefined ? null : { address, isAsking: word === "ASK" };
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(":"));
}
