/** The network that a client's address belongs to: an IPv4 address alone, or the /64 of an IPv6 address, which one client can use up. */

const GROUPS = 8;
const NETWORK_GROUPS = 4;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** @param address as Node writes it; undefined: the client is gone. */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(":")) return address;
  const [left, right] = address.split("%", 1)[0]!.split("::") as [string, string | undefined];
  const first = left === "" ? [] : left.split(":");
  const last = right === undefined || right === "" ? [] : right.split(":");
  const zeros = Array.from({ length: GROUPS - first.length - last.length }, () => "0");
  return `${[...first, ...zeros, ...last].slice(0, NETWORK_GROUPS).join(":")}::/64`;
}
