/**
 * Whether a request's Host names this server.
 *
 * A server on loopback is reached by pages of the local browser, too, if they get a name of their own to point to it. So it answers
 * only to the names it was given, or else to those of loopback; null: to any.
 */
import type { IncomingMessage } from "node:http";
import { isIPv4 } from "node:net";
import { Problem } from "../../contract/problem.ts";

export type HostCheck = (host: string | undefined) => Problem | undefined;

/** The step of the pipeline. @throws Problem */
export function checkHost({ headers, rawHeaders }: IncomingMessage, problemOfHost: HostCheck): void {
  if (hasSeveralHosts(rawHeaders)) throw new Problem("invalid_input", "The request has several Host headers.");
  const misdirected = problemOfHost(headers.host);
  if (misdirected !== undefined) throw misdirected;
}

export function hostCheck(hosts: readonly string[] | null): HostCheck {
  if (hosts === null) return () => undefined;
  const known = new Set(hosts.map((host) => host.toLowerCase()));
  return (host) => {
    if (host !== undefined && (known.has(host) || known.has(nameOf(host).toLowerCase()))) return undefined;
    return new Problem("misdirected_request", "The Host header does not match this server (setting http.hosts).");
  };
}

/** Without the port: `[::1]:8080` is `[::1]`. */
function nameOf(host: string): string {
  return host.replace(/:\d+$/, "");
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** The names of a listener that nobody named: those of loopback, or any beyond it. */
export function usualNames(host: string): readonly string[] | null {
  return isLoopback(host) ? ["localhost", "127.0.0.1", "[::1]", host] : null;
}

/** Whether there are several Host headers. Node reports the first one, and a proxy before it may have used another (RFC 9112, 3.2). */
export function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === HOST.length && name.toLowerCase() === HOST) count++;
  }
  return count > 1;
}

const HOST = "host";
