/** Addresses: what is one, which network it is in, and which texts name the same client. */
import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AddressList, networkOf, parseAddress } from "./address.ts";

/** An address as Node's own parser reads it: its canonical text by the URL parser, which is not ours. */
const canonical = (text: string) => new URL(`http://[${text}]`).hostname;

describe("networkOf", () => {
  test.each([
    ["1.2.3.4", "1.2.3.4"],
    ["1.2.3.4:5678", "1.2.3.4"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["::ffff:102:304", "1.2.3.4"],
    ["::FFFF:1.2.3.4", "1.2.3.4"],
    ["[::ffff:1.2.3.4]:80", "1.2.3.4"],
    ["0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4"],
    ["2001:db8:1:2ff:3::4", "2001:db8:1:200::/56"],
    ["[2001:DB8:1:2ff:3::4]:443", "2001:db8:1:200::/56"],
    ["fe80::1%eth0", "fe80:0:0:0::/56"],
    ["::1", "0:0:0:0::/56"],
    ["::", "0:0:0:0::/56"],
  ])("%s is %s", (text, network) => {
    expect(networkOf(text, 56)).toBe(network);
  });

  test.each([
    "",
    "unknown",
    "_hidden",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "01.2.3.4",
    "1.2.3.4:",
    "1.2.3.4:123456",
    "1.2.3.-4",
    "1..2.3",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8:9",
    "12345::",
    "g::",
    "[::1",
    "::1]",
    "1.2.3.4::",
    "::1.2.3.4:5",
    "x".repeat(10_000),
  ])("%s is not an address", (text) => {
    expect(networkOf(text, 56)).toBe(undefined);
  });

  test("a text is an address if and only if Node says so, ports and brackets aside", () => {
    const piece = fc.constantFrom("0", "1", "ff", "255", "256", "00", ":", "::", ".", "ffff", "1.2.3.4", "g", "%eth0");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
        const text = pieces.join("");
        // Node takes an empty zone for none, and a port for no address.
        fc.pre(!/%($|.*%)/.test(text) && !/^[\d.]+:\d+$/.test(text));
        expect(parseAddress(text) !== undefined, text).toBe(isIP(text) !== 0);
      }),
      { numRuns: 5_000 },
    );
  });

  test("two addresses share a network exactly if their leading bits agree", () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    const address = fc.array(group, { minLength: 8, maxLength: 8 }).filter(([first]) => first !== 0);
    fc.assert(
      fc.property(
        address,
        fc.integer({ min: 32, max: 128 }),
        fc.integer({ min: 0, max: 127 }),
        (groups, subnet, bit) => {
          const text = (all: readonly number[]) => all.map((one) => one.toString(16)).join(":");
          const flipped = groups.with(bit >> 4, groups[bit >> 4]! ^ (0x8000 >> (bit & 15)));
          fc.pre(flipped[0] !== 0);
          const isSame = networkOf(text(groups), subnet) === networkOf(text(flipped), subnet);
          expect(isSame).toBe(bit >= subnet);
          expect(networkOf(canonical(text(groups)).slice(1, -1), subnet)).toBe(networkOf(text(groups), subnet));
        },
      ),
    );
  });
});

describe("address list", () => {
  test("has what its networks contain", () => {
    const list = new AddressList(["10.0.0.0/8", "192.168.1.7", "2001:db8::/33", "::ffff:172.16.0.0/108"], "allowList");
    const inside = [
      "10.255.0.1",
      "::ffff:10.1.1.1",
      "192.168.1.7",
      "2001:db8:7fff::1",
      "172.31.255.255",
      "10.1.1.1:80",
    ];
    const outside = ["11.0.0.1", "192.168.1.8", "2001:db8:8000::1", "172.32.0.0", "::10.0.0.1", "", "nonsense"];
    expect(inside.filter((address) => !list.has(address))).toEqual([]);
    expect(outside.filter((address) => list.has(address))).toEqual([]);
    expect(new AddressList(["0.0.0.0/0"], "allowList").has("8.8.8.8")).toBe(true);
    expect(new AddressList(["0.0.0.0/0"], "allowList").has("2001:db8::1")).toBe(false);
  });

  test.each(["10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1", "host", 7])(
    "refuses %s by name",
    (entry) => {
      expect(() => new AddressList(["::1", entry as string], "denyList")).toThrow(
        /^denyList\[1\] must be .* \(RL_ADDRESS_INVALID\)$/,
      );
    },
  );
});
