/** A framework as the conformance suite uses it: it starts a real server behind the middleware, and answers what the middleware decided. */
import type { AddressInfo } from "node:net";
import type { RateLimitDecision } from "sluice/express";

/** Options of the middleware. The suite is written once, so that it cannot have each framework's own types. */
export type Options = Readonly<Record<string, unknown>>;

export interface Started {
  readonly url: string;
  close(): Promise<void>;
}

/** What a server has. */
export interface ServerPlan {
  /** One middleware for each, in this order. */
  readonly options: readonly Options[];
  /** In place of the middlewares: the handler calls `check`, and answers its decision. */
  readonly isChecked?: boolean;
  /** Whether the framework's own proxy setting trusts loopback. */
  readonly trustsLoopback?: boolean;
}

/**
 * Its server answers `GET /` with the decision on the request, as JSON; `GET /own` with a response that the handler makes itself;
 * `GET /fails` by throwing. Errors that reach the framework's error handling are answered with 500 and `caught: <message>`.
 */
export interface Framework {
  readonly name: string;
  /** The entry of its middleware. */
  readonly entry: { readonly byIp: unknown };
  /** A header of what key functions and others receive. */
  header(request: unknown, name: string): string | undefined;
  /** A handler of denials that answers 418 and `handled <policy>`. */
  readonly handler: unknown;
  /** Whether requests have a client address. */
  readonly hasAddress: boolean;
  /** Whether the framework has its own proxy setting. */
  readonly hasProxySetting: boolean;
  start(plan: ServerPlan): Promise<Started>;
}

export const show = (decision: RateLimitDecision | undefined): string => JSON.stringify(decision ?? null);
export const caught = (error: unknown): string => `caught: ${error instanceof Error ? error.message : String(error)}`;

interface NodeServer {
  address(): AddressInfo | string | null;
  close(done: () => void): unknown;
  closeAllConnections(): void;
}

/** A Node server that listens, as the suite wants it. */
export function startedAt(server: NodeServer): Started {
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
