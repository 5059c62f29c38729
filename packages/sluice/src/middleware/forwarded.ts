/**
 * Which address of a request is the client's: the peer of the connection, or one that trusted proxies report.
 *
 * Each proxy appends the address of its own peer to X-Forwarded-For. Read from the right, the header therefore continues the chain that
 * begins with the peer of the connection, and an entry is as true as the proxy that wrote it is trusted. Entries to the left of the first
 * proxy that is not trusted come from the client, which may write anything there.
 */
import { AddressList, parseAddress } from "./address.ts";
import { optionError } from "./option-error.ts";

/** How many proxies stand before this server, or which networks they are in. */
export type TrustProxy = number | readonly string[];

/** More proxies in a row than any deployment has. */
const PROXIES_MAX = 32;

/** Decides for each hop, from the peer of the connection on, whether the address that it reports is believed. */
export type Trust = (address: string, hop: number) => boolean;

/** @throws SluiceError if it is not a number of proxies or a list of networks. */
export function readTrust(trustProxy: unknown): Trust {
  if (Array.isArray(trustProxy) && trustProxy.length > 0) {
    const list = new AddressList(trustProxy as string[], "trustProxy");
    return (address) => list.has(address);
  }
  if (typeof trustProxy === "number" && Number.isInteger(trustProxy) && trustProxy >= 0 && trustProxy <= PROXIES_MAX) {
    return (_address, hop) => hop < trustProxy;
  }
  throw optionError("trustProxy", trustProxy);
}

/**
 * The client's address by the trusted part of the chain. An entry that is not an address ends the chain: the proxy that reported it is
 * then the best that is known.
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trust: Trust,
): string | undefined {
  let address = peer;
  let rest = forwardedFor ?? "";
  for (let hop = 0; hop < PROXIES_MAX && rest !== "" && trust(address ?? "", hop); hop++) {
    const comma = rest.lastIndexOf(",");
    const entry = rest.slice(comma + 1).trim();
    if (parseAddress(entry) === undefined) break;
    address = entry;
    rest = comma === -1 ? "" : rest.slice(0, comma);
  }
  return address;
}
