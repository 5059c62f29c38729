/** Which address is the client's: whatever a client writes, only what trusted proxies append is believed. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clientAddress, readTrust } from "./forwarded.ts";

const PROXIES = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
const CLIENT = "203.0.113.9";

/** Whatever a client may send as X-Forwarded-For: it can be anything but what the proxies append. */
const forged = fc.oneof(
  fc.constant(undefined),
  fc
    .array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom("", " ", "unknown", "10.0.0.2", "127.0.0.1", "[::1]:80")), {
      maxLength: 5,
    })
    .map((all) => all.join(",")),
  fc.string({ maxLength: 40 }),
);

/** The header that the server sees: every proxy has appended the address of its own peer. */
function arriving(header: string | undefined, proxies: number): string | undefined {
  const appended = [CLIENT, ...PROXIES.slice(0, proxies - 1)];
  return proxies === 0 ? header : [...(header === undefined ? [] : [header]), ...appended].join(", ");
}

describe("client address", () => {
  test("behind a known number of proxies it is the client's, whatever the client forges", () => {
    fc.assert(
      fc.property(forged, fc.integer({ min: 0, max: 3 }), (header, proxies) => {
        const peer = proxies === 0 ? CLIENT : PROXIES[proxies - 1];
        expect(clientAddress(peer, arriving(header, proxies), readTrust(proxies))).toBe(CLIENT);
      }),
      { numRuns: 2_000 },
    );
  });

  test("behind proxies of trusted networks it is the client's, whatever the client forges", () => {
    const trust = readTrust(["10.0.0.0/8"]);
    fc.assert(
      fc.property(forged, fc.integer({ min: 0, max: 3 }), (header, proxies) => {
        const peer = proxies === 0 ? CLIENT : PROXIES[proxies - 1];
        expect(clientAddress(peer, arriving(header, proxies), trust)).toBe(CLIENT);
      }),
      { numRuns: 2_000 },
    );
  });

  test("fewer entries than proxies give the farthest one; an entry that is not an address ends the chain", () => {
    expect(clientAddress("10.0.0.1", "1.1.1.1", readTrust(3))).toBe("1.1.1.1");
    expect(clientAddress("10.0.0.1", undefined, readTrust(3))).toBe("10.0.0.1");
    expect(clientAddress("10.0.0.1", "1.1.1.1, unknown", readTrust(3))).toBe("10.0.0.1");
    expect(clientAddress("10.0.0.1", "1.1.1.1, unknown, 10.0.0.2", readTrust(["10.0.0.0/8"]))).toBe("10.0.0.2");
    expect(clientAddress(undefined, "1.1.1.1", readTrust(1))).toBe("1.1.1.1");
    expect(clientAddress(undefined, "1.1.1.1", readTrust(["10.0.0.0/8"]))).toBe(undefined);
  });

  test.each([-1, 1.5, 33, "1", true, [], {}, null])("refuses %j as trustProxy", (trustProxy) => {
    expect(() => readTrust(trustProxy)).toThrow(/^trustProxy must be .* \(RL_MIDDLEWARE_OPTION_INVALID\)$/);
  });
});
