/**
 * Client addresses: parsed, folded and compared.
 *
 * Every address is eight groups of 16 bits. An IPv4 address is its IPv4-mapped form (`::ffff:a.b.c.d`), so that `1.2.3.4` and
 * `::ffff:1.2.3.4` are one client, and one comparison serves both families.
 *
 * It does not know where an address comes from: forwarded.ts decides which part of a request to believe.
 */
import { SluiceError } from "../core/errors.ts";

type Groups = readonly number[];

/** Of the 128 bits, those before an IPv4 address begins. */
const IPV4_PREFIX_BITS = 96;
const MAPPED_PREFIX: Groups = [0, 0, 0, 0, 0, 0xffff];
/** A subnet of `byIp`: a /32 is the smallest allocation of a provider, and a /128 is one address. */
export const IPV6_SUBNET_MIN = 32;
export const IPV6_SUBNET_MAX = 128;
/** What most providers assign to one customer. */
export const IPV6_SUBNET_DEFAULT = 56;
/** The longest text of an address with a zone and a port; longer texts are not read. */
const TEXT_LENGTH_MAX = 128;

/**
 * The identifier of the client at this address: an IPv4 address itself, or an IPv6 network such as `2001:db8:0:100::/56`. Ports, brackets
 * and zones are ignored. Undefined if the text is not an address.
 */
export function networkOf(text: string, ipv6Subnet: number): string | undefined {
  // The forms of nearly every request: a bare IPv4 address, and the one of a socket that serves both families.
  const bare = text.startsWith("::ffff:") ? text.slice(7) : text;
  if (isIpv4(bare)) return bare;
  const groups = parseAddress(text);
  if (groups === undefined) return undefined;
  if (isMapped(groups)) return ipv4Text(groups);
  const kept: string[] = [];
  for (let at = 0; at * 16 < ipv6Subnet; at++) kept.push((groups[at]! & groupMask(ipv6Subnet, at)).toString(16));
  return `${kept.join(":")}${kept.length < 8 ? "::" : ""}/${ipv6Subnet}`;
}

/** The eight groups of an address; undefined if the text is not one. */
export function parseAddress(text: string): Groups | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const bare = withoutPort(text.trim());
  if (isIpv4(bare)) return [...MAPPED_PREFIX, ...ipv4Groups(bare)];
  const zone = bare.indexOf("%");
  return ipv6Groups(zone === -1 ? bare : bare.slice(0, zone));
}

/** `[::1]:80`, `[::1]` and `1.2.3.4:80` without brackets and port; anything else as it is. */
function withoutPort(text: string): string {
  if (text.startsWith("[")) return /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? "";
  const colon = text.indexOf(":");
  const hasPort = colon !== -1 && colon === text.lastIndexOf(":") && /^\d{1,5}$/.test(text.slice(colon + 1));
  return hasPort ? text.slice(0, colon) : text;
}

/** Four decimal numbers up to 255, without leading zeros: some systems read those as octal. By hand, because every request needs it. */
function isIpv4(text: string): boolean {
  if (text.length < 7 || text.length > 15) return false;
  let dots = 0;
  let value = -1;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 46) {
      if (value === -1 || ++dots > 3) return false;
      value = -1;
    } else {
      const digit = code - 48;
      if (digit < 0 || digit > 9 || value === 0) return false;
      value = value === -1 ? digit : value * 10 + digit;
      if (value > 255) return false;
    }
  }
  return dots === 3 && value !== -1;
}

function ipv4Groups(text: string): Groups {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return [(a << 8) | b, (c << 8) | d];
}

function ipv4Text(groups: Groups): string {
  const [high = 0, low = 0] = groups.slice(6);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

function ipv6Groups(text: string): Groups | undefined {
  const halves = text.split("::");
  if (halves.length > 2 || text === "") return undefined;
  const [head, tail] = halves.map((half, i) => groupsOf(half, i === halves.length - 1));
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  // `::` stands for at least one group.
  if (tail === undefined || head.length + tail.length > 7) return undefined;
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** The groups of one side of a `::`. The last group of an address may be an IPv4 address. */
function groupsOf(text: string, isLast: boolean): Groups | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16));
    else if (isLast && i === parts.length - 1 && isIpv4(part)) groups.push(...ipv4Groups(part));
    else return undefined;
  }
  return groups;
}

function isMapped(groups: Groups): boolean {
  return MAPPED_PREFIX.every((group, i) => groups[i] === group);
}

/** The bits of group `at` that belong to a prefix of so many bits. */
function groupMask(bits: number, at: number): number {
  const own = Math.max(0, Math.min(16, bits - at * 16));
  return (0xffff << (16 - own)) & 0xffff;
}

interface Network {
  readonly groups: Groups;
  readonly bits: number;
}

/** Addresses and networks (`10.0.0.0/8`, `2001:db8::/32`), read once. */
export class AddressList {
  readonly #networks: readonly Network[];

  /** @throws SluiceError that names the entry, as `<field>[<index>]`. */
  constructor(entries: readonly string[], field: string) {
    this.#networks = entries.map((entry, i) => {
      const network = typeof entry === "string" ? parseNetwork(entry) : undefined;
      if (network === undefined) throw new SluiceError("RL_ADDRESS_INVALID", `${field}[${i}]`, entry);
      return network;
    });
  }

  has(address: string): boolean {
    const groups = parseAddress(address);
    if (groups === undefined) return false;
    return this.#networks.some((network) =>
      network.groups.every((group, at) => ((group ^ groups[at]!) & groupMask(network.bits, at)) === 0),
    );
  }
}

function parseNetwork(text: string): Network | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const groups = parseAddress(address);
  if (groups === undefined || rest.length > 0) return undefined;
  if (length === undefined) return { groups, bits: 128 };
  const isShort = isIpv4(address);
  const bits = /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  if (!(bits <= (isShort ? 32 : 128))) return undefined;
  return { groups, bits: isShort ? IPV4_PREFIX_BITS + bits : bits };
}
