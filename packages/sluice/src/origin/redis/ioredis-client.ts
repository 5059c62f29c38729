/**
 * A client of `ioredis` that somebody else connects, configures and closes: one server, or one that Sentinels name.
 *
 * As it comes, it sends a command whose reply was lost again without saying so. It must be told not to:
 * `autoResendUnfulfilledCommands: false`. A Cluster client of ioredis re-sends in more ways, and is refused: `cluster` serves.
 */
import type { ClientDriver } from "./client-driver.ts";

/** What is used of it. */
export interface IoredisClient {
  readonly status: string;
  readonly isCluster?: boolean | undefined;
  readonly options: { readonly autoResendUnfulfilledCommands?: boolean | undefined };
  call(command: string, ...args: string[]): Promise<unknown>;
}

export function isIoredis(client: unknown): client is IoredisClient {
  const { call, status } = (client ?? {}) as Partial<IoredisClient>;
  return typeof call === "function" && typeof status === "string";
}

/** Why it may not be used; undefined: it may. */
export function whyNot({ isCluster, options }: IoredisClient): string | undefined {
  if (isCluster === true) return "a Cluster client of ioredis";
  return options?.autoResendUnfulfilledCommands === false ? undefined : "an ioredis client that re-sends";
}

export function ioredisDriver(client: IoredisClient): ClientDriver {
  return {
    isCluster: false,
    mayResend: false,
    get isReady() {
      return client.status === "ready";
    },
    send: (_key, [name = "", ...args]) => client.call(name, ...args),
  };
}
