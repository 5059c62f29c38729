/** Asks a running server, as any other client would; what it refuses becomes an error in a user's words. */
import { Failure } from "../input/failure.ts";
import { InputError } from "../input/input-error.ts";
import { safeLine } from "../terminal/safe-text.ts";

const TIMEOUT_MS = 10_000;
const PAGE = 100;

interface Reply {
  readonly data?: unknown;
  readonly pagination?: { readonly hasMore: boolean; readonly cursor?: string };
  /** What stands there may be anybody's: the address need not be Sluice's. */
  readonly error?: Partial<Refusal> | string;
}

/** The server answered, and would not. */
export class Refused extends Failure {
  readonly status: number;

  constructor(message: string, hint: string, status: number) {
    super(message, hint);
    this.status = status;
  }

  /** Whether another key might be let in. */
  get isForKey(): boolean {
    return [400, 401, 403].includes(this.status);
  }
}

interface Refusal {
  readonly title: string;
  readonly detail: string;
  readonly type: string;
  readonly errors?: readonly { readonly location: string; readonly message: string; readonly fix?: string }[];
}

/** How the person at the command line calls a field of a body: a flag or an argument. */
export type FieldName = (field: string) => string;

export class ApiClient {
  readonly url: string;
  readonly #key: string;
  readonly #called: FieldName;

  constructor(url: string, key: string, called: FieldName) {
    this.url = url;
    this.#key = key;
    this.#called = called;
  }

  /** For a client of another kind, and never for a text. */
  get key(): string {
    return this.#key;
  }

  async ask<Data>(operation: string, body: object): Promise<Data> {
    return (await this.#ask(operation, body)).data as Data;
  }

  /** All pages of a list. */
  async askAll<Data>(operation: string, body: object): Promise<Data[]> {
    const all: Data[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#ask(operation, { ...body, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      all.push(...(page.data as Data[]));
      cursor = page.pagination?.hasMore === true ? page.pagination.cursor : undefined;
    } while (cursor !== undefined);
    return all;
  }

  async #ask(operation: string, body: object): Promise<Reply> {
    const answer = await this.#post(`${this.url}/v2/ratelimit.${operation}`, JSON.stringify(body));
    const reply = (await answer.json().catch(() => ({}))) as Reply;
    if (answer.ok && reply.data !== undefined) return reply;
    throw this.#errorOf(answer.status, reply);
  }

  async #post(url: string, body: string): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}`, "content-type": "application/json" };
    try {
      // A server that sends elsewhere is not the one that was named, and the key is not for it.
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      return await fetch(url, { method: "POST", headers, body, redirect: "error", signal });
    } catch (error) {
      const { cause, message } = error as Error & { readonly cause?: NodeJS.ErrnoException };
      const why = cause?.code ?? cause?.message ?? message;
      throw new Failure(
        `no answer from ${this.url} (${why})`,
        "start a server with sluice serve, or set --url or SLUICE_URL to a running one",
      );
    }
  }

  #errorOf(status: number, { error }: Reply): Error {
    if (typeof error !== "object" || error.title === undefined || error.detail === undefined) {
      const hint =
        "check that it is the address of Sluice's API, and not of its operators' listener (--ops-port) or of another service";
      return new Failure(`${this.url} answered ${status}, but not in the format of Sluice's API`, hint);
    }
    const { title, detail, type = "", errors: [first] = [] } = error;
    if (first !== undefined) {
      const field = /^body\.(\w+)$/.exec(first.location)?.[1];
      const called = field === undefined ? first.location : this.#called(field);
      return new InputError(safeLine(`${called} ${first.message}`), first.fix ?? "--help shows every flag");
    }
    const hint = HINTS_BY_TYPE[type.replace("/errors/", "")] ?? HINTS[status] ?? "see the server's log for details";
    return new Refused(safeLine(`${title}: ${detail} (${status})`), hint, status);
  }
}

const HINTS_BY_TYPE: Readonly<Record<string, string>> = {
  "application/route_not_found": "check that the URL has no path, and that the server is of this release",
  "application/hitters_off": "start the server with --hitters-namespaces 64, or another number above 0",
  "data/ratelimit_override_not_found": "sluice overrides list NAMESPACE lists the existing ones",
};

const HINTS: Readonly<Record<number, string>> = {
  400: "SLUICE_ROOT_KEY or --key-file holds the key",
  401: "SLUICE_ROOT_KEY or --key-file must hold a key of this server; create one with sluice keys create",
  403: "use a key with that permission",
  404: "sluice namespaces list lists the existing ones",
  409: "sluice namespaces list shows the other one; sluice namespaces delete frees its name",
  410: "restore it with sluice namespaces restore",
  429: "the workspace has used its quota: try again later",
  503: "try again in a moment",
};
