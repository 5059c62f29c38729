/** Opens a port, or says in a user's words why it cannot be. */
import type { AddressInfo, Server } from "node:net";
import { Failure } from "../input/failure.ts";

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Resolves with the port that was taken. */
export function listen(server: Server, { host, port }: Place): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(failureOf(error, { host, port }));
    server.once("error", fail);
    server.listen({ host, port }, () => {
      server.off("error", fail);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** How a place stands in a URL. */
export function urlOf({ host, port }: Place, isTls: boolean): string {
  return `${isTls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const HINTS: Readonly<Record<string, readonly [string, string]>> = {
  EADDRINUSE: [
    "the port is in use",
    "stop the process that uses it, or choose another port; --port 0 takes any free port",
  ],
  EACCES: ["permission denied", "ports below 1024 are reserved for root: choose another, such as 8080"],
  EADDRNOTAVAIL: [
    "this machine does not have that address",
    "127.0.0.1 listens on this machine only, 0.0.0.0 on all its networks",
  ],
  ENOTFOUND: ["the name does not exist", "use an address of this machine"],
  EAI_AGAIN: ["the name could not be resolved", "use an address of this machine"],
};

function failureOf({ code = "", message }: NodeJS.ErrnoException, { host, port }: Place): Failure {
  const [why, hint] = HINTS[code] ?? [message, "see --host and --port"];
  return new Failure(`cannot listen on ${host}:${port}: ${why} (${code})`, hint);
}
