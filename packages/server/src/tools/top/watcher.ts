/** Asks a running server what `sluice top` shows: the listener for operators, and the API for top identifiers. */
import type { ApiClient } from "../../client/api-client.ts";
import { Refused } from "../../client/api-client.ts";
import type { TopIdentifiersData } from "../../contract/schemas.ts";
import { Failure } from "../../input/failure.ts";
import type { Readiness } from "../../serve/readiness.ts";
import type { Ranked } from "./frame.ts";
import type { Look, Picture } from "./picture.ts";
import { SeriesTable } from "./series.ts";

const WITHIN_MS = 5_000;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
/** Namespaces of the metrics that are tried: they may be of other workspaces than the key, or not be the key's to read. */
const TRIED_MAX = 5;
const IDENTIFIERS = 8;

export interface WatcherOptions {
  readonly opsUrl: string;
  /** Null: no key was given. */
  readonly client: ApiClient | null;
  /** Undefined: the busiest. */
  readonly namespace: string | undefined;
  readonly nowMs: () => number;
}

export class Watcher {
  readonly #options: WatcherOptions;

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  /** Rejects with Failure if it does not answer, or something else does. */
  async look(): Promise<Look> {
    const [metrics, ready] = await Promise.all([this.#get("/metrics"), this.#get("/ready")]);
    const atMs = this.#options.nowMs();
    const series = new SeriesTable(metrics);
    if (series.all("sluice_build_info").length === 0) throw this.#stranger();
    try {
      return { atMs, series, readiness: JSON.parse(ready) as Readiness };
    } catch {
      throw this.#stranger();
    }
  }

  /** Or why there is none. Rejects with Refused where the key is refused. */
  async ranked({ namespaces }: Picture): Promise<Ranked | string> {
    const { client, namespace } = this.#options;
    if (client === null) return "set SLUICE_ROOT_KEY or --key-file to see them";
    const names =
      namespace === undefined ? namespaces.map((flow) => flow.namespace).filter((name) => name !== "") : [namespace];
    const passed = namespace === undefined ? [NOT_FOUND, FORBIDDEN] : [NOT_FOUND];
    let missing = "no namespace has had requests yet";
    for (const name of names.slice(0, TRIED_MAX)) {
      try {
        const ask = (by: string) =>
          client.ask<TopIdentifiersData>("topIdentifiers", { namespace: name, by, limit: IDENTIFIERS });
        const [use, denials] = await Promise.all([ask("use"), ask("denials")]);
        return { namespace: name, use, denials };
      } catch (error) {
        if (!(error instanceof Refused) || !passed.includes(error.status)) throw error;
        missing = error.message;
      }
    }
    return missing;
  }

  async #get(path: string): Promise<string> {
    const { opsUrl } = this.#options;
    try {
      const answer = await fetch(`${opsUrl}${path}`, { redirect: "error", signal: AbortSignal.timeout(WITHIN_MS) });
      // A server that is not ready says so with 503.
      if (!answer.ok && answer.status !== 503) throw this.#stranger();
      return await answer.text();
    } catch (error) {
      if (error instanceof Failure) throw error;
      const { cause, message } = error as Error & { readonly cause?: NodeJS.ErrnoException };
      throw new Failure(
        `no answer from ${opsUrl} (${cause?.code ?? message})`,
        "the server's log has the address of its operators' listener (ops); set --ops-url to it",
      );
    }
  }

  #stranger(): Failure {
    return new Stranger(
      `${this.#options.opsUrl} answers, but not as the operators' listener of Sluice`,
      "its port is --ops-port of the server, 9080 by default, not the port of the API",
    );
  }
}

/** Something else answers: asking again will not help. */
export class Stranger extends Failure {}
