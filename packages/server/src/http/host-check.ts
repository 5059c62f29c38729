/**
 * Whether a request's Host names this server.
 *
 * A server on loopback is reached by pages of the local browser, too, if they get a name of their own to point to it. So it answers
 * only to the names it was given; null: to any.
 */
import { Problem } from "./problem.ts";

export function hostCheck(hosts: readonly string[] | null): (host: string | undefined) => Problem | undefined {
  if (hosts === null) return () => undefined;
  const known = new Set(hosts.map((host) => host.toLowerCase()));
  return (host) => {
    if (host !== undefined && (known.has(host) || known.has(nameOf(host).toLowerCase()))) return undefined;
    return new Problem("misdirected_request", "This server does not go by the name in the header Host.");
  };
}

/** Without the port: `[::1]:8080` is `[::1]`. */
function nameOf(host: string): string {
  return host.replace(/:\d+$/, "");
}
