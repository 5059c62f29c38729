/**
 * Keys: what a policy counts by. A key function takes what the framework's handlers take, and answers an identifier.
 *
 * The helpers here work with every framework: the core passes them a `RequestSource` that reads the request. A function of the user
 * ignores it. A secret (a token, a session) is hashed, so that it does not become an identifier in Redis, SQL, logs or metrics.
 */

import { SluiceError } from "../core/errors.ts";
import { checkKnown } from "../core/known.ts";
import { isPart } from "../core/part.ts";
import { IPV6_SUBNET_DEFAULT, IPV6_SUBNET_MAX, IPV6_SUBNET_MIN, networkOf } from "./address.ts";
import { clientAddress, readTrust, type TrustProxy } from "./forwarded.ts";
import { optionError } from "./option-error.ts";
import { sha256Hex } from "./sha256.ts";

/** How an adapter reads a request of its framework. */
export interface RequestSource<Req> {
  /** A header by its lower-case name; several of one name are joined by commas. */
  header(request: Req, name: string): string | undefined;
  /** The client's address by the framework's own proxy setting. */
  address(request: Req): string | undefined;
  /** The address of the connection's other end. */
  peer(request: Req): string | undefined;
  /** Whether the framework has a proxy setting that is on. */
  trustsProxy(request: Req): boolean;
  /** Whether the client has closed the connection, so that its address is no longer known. */
  isClosed(request: Req): boolean;
}

/** An identifier, or undefined if the request has none; see `onMissingKey`. */
export type Identifier = string | undefined;

/** Answers the identifier of a request, at once or later. */
export type KeyFunction<Req> = (request: Req, source: RequestSource<Req>) => Identifier | Promise<Identifier>;

/** A helper: a key function for the requests of every framework. */
export type KeyHelper = <Req>(request: Req, source: RequestSource<Req>) => Identifier;

export interface ByIpOptions {
  /** IPv6 clients are counted by networks of this prefix length: 32 to 128, default 56. */
  readonly ipv6Subnet?: number | undefined;
  /** The number of proxies before this server, or their networks. Default: that of `rateLimit`, else the framework's own setting. */
  readonly trustProxy?: TrustProxy | undefined;
}

export interface HashOptions {
  /** Whether the identifier is the SHA-256 of the value. For secrets. */
  readonly hash?: boolean | undefined;
}

/** All requests whose client has left before they were counted: they have no address, and nobody waits for their answer. */
const DISCONNECTED = "disconnected";

/**
 * Counts by client address; IPv6 clients by network.
 *
 * @example
 * ```ts
 * import { byIp, rateLimit } from "sluice/express";
 *
 * const middleware = rateLimit({ key: byIp({ ipv6Subnet: 64, trustProxy: 1 }), limit: 100, duration: "1m" });
 * ```
 */
export function byIp(options: ByIpOptions = {}): KeyHelper {
  checkKnown(options, ["ipv6Subnet", "trustProxy"], "byIp");
  const { ipv6Subnet = IPV6_SUBNET_DEFAULT, trustProxy } = options;
  if (!Number.isInteger(ipv6Subnet) || ipv6Subnet < IPV6_SUBNET_MIN || ipv6Subnet > IPV6_SUBNET_MAX) {
    throw optionError("ipv6Subnet", ipv6Subnet);
  }
  const trust = trustProxy === undefined ? null : readTrust(trustProxy);
  return (request, source) => {
    const peer = source.peer(request);
    const address =
      trust === null ? source.address(request) : clientAddress(peer, source.header(request, "x-forwarded-for"), trust);
    // A framework that believes every proxy hands on what the client wrote. If that is not an address, the connection's is true.
    const network = networkOf(address ?? "", ipv6Subnet) ?? networkOf(peer ?? "", ipv6Subnet);
    if (network !== undefined) return network;
    if (source.isClosed(request)) return DISCONNECTED;
    throw new SluiceError("RL_KEY_REQUIRED", "key", undefined);
  };
}

/**
 * Counts by the value of a header. Clients choose it: use it behind something that checks the value.
 *
 * @example
 * ```ts
 * import { byHeader, rateLimit } from "sluice/express";
 *
 * const middleware = rateLimit({ key: byHeader("x-api-key", { hash: true }), limit: 100, duration: "1m" });
 * ```
 */
export function byHeader(name: string, options: HashOptions = {}): KeyHelper {
  const header = checkName(name, "byHeader");
  const identify = identifierOf(options, "byHeader");
  return (request, source) => identify(source.header(request, header));
}

/**
 * Counts by the value of a cookie.
 *
 * @example
 * ```ts
 * import { byCookie, rateLimit } from "sluice/express";
 *
 * const middleware = rateLimit({ key: byCookie("session", { hash: true }), limit: 100, duration: "1m" });
 * ```
 */
export function byCookie(name: string, options: HashOptions = {}): KeyHelper {
  checkName(name, "byCookie");
  const identify = identifierOf(options, "byCookie");
  return (request, source) => identify(cookieOf(source.header(request, "cookie"), name));
}

/**
 * Counts by the SHA-256 of the token in `Authorization: Bearer …`.
 *
 * @example
 * ```ts
 * import { bearerToken, rateLimit } from "sluice/express";
 *
 * const middleware = rateLimit({ key: bearerToken(), limit: 100, duration: "1m", onMissingKey: "deny" });
 * ```
 */
export function bearerToken(): KeyHelper {
  return (request, source) => {
    const token = /^bearer +(\S+) *$/i.exec(source.header(request, "authorization") ?? "")?.[1];
    return token === undefined ? undefined : sha256Hex(token);
  };
}

/**
 * Counts by several keys together: each combination of their identifiers has a count of its own. Undefined if one of them is.
 *
 * @example
 * ```ts
 * import { byHeader, byIp, compose, rateLimit } from "sluice/express";
 *
 * const middleware = rateLimit({ key: compose(byIp(), byHeader("x-tenant")), limit: 100, duration: "1m" });
 * ```
 */
export function compose<Req>(...keys: readonly KeyFunction<Req>[]): KeyFunction<Req> {
  if (keys.length === 0 || keys.some((key) => typeof key !== "function")) {
    throw optionError("compose", keys);
  }
  return (request, source) => {
    const identifiers = keys.map((key) => key(request, source));
    const isLater = identifiers.some((one) => one instanceof Promise);
    return isLater ? allOf(identifiers) : joined(identifiers as Identifier[]);
  };
}

async function allOf(identifiers: readonly (Identifier | Promise<Identifier>)[]): Promise<Identifier> {
  return joined(await Promise.all(identifiers.map(async (one) => one)));
}

/** As JSON: identifiers may hold any character, so that no separator would keep two combinations apart. */
function joined(identifiers: readonly Identifier[]): Identifier {
  return identifiers.some((one) => one === undefined || one === "") ? undefined : JSON.stringify(identifiers);
}

/** An identifier that the limiter takes: a text that is too long or ill-formed is hashed, never refused. */
export function legalIdentifier(text: string): string {
  return isPart(text) ? text : sha256Hex(text);
}

function identifierOf(options: HashOptions, field: string): (value: string | undefined) => Identifier {
  checkKnown(options, ["hash"], field);
  const { hash = false } = options;
  if (typeof hash !== "boolean") throw optionError("hash", hash);
  return (value) => (value === undefined || value === "" ? undefined : hash ? sha256Hex(value) : value);
}

/** The name of a header or a cookie: a token of RFC 9110. In lower case, as Node and `Headers` have header names. */
function checkName(name: string, field: "byHeader" | "byCookie"): string {
  if (typeof name !== "string" || !/^[\w!#$%&'*+.^`|~-]{1,128}$/.test(name)) {
    throw optionError(field, name);
  }
  return name.toLowerCase();
}

/** The first cookie of this name. Its value as it is sent: decoding could make two identifiers one. */
function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const equals = pair.indexOf("=");
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}
