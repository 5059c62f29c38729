import { expect, test } from "vitest";
import type { Log } from "../../log/log.ts";
import { AuthenticationBrake } from "./authentication-brake.ts";
import { networkOf } from "./client-network.ts";

const BURST = 100;
const NETWORKS_MAX = 4_096;

class Lines implements Log {
  readonly warned: object[] = [];
  debug(): void {}
  info(): void {}
  error(): void {}
  warn(_event: string, fields: object = {}): void {
    this.warned.push(fields);
  }
}

/** How many of so many failures at that time are within the budget. */
function within(brake: AuthenticationBrake, address: string, failures: number, nowMs: number): number {
  return Array.from({ length: failures }, () => brake.failed(address, nowMs)).filter((one) => one === undefined).length;
}

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["2001:db8:1:2::", "2001:db8:1:2::/64"],
  [undefined, "unknown"],
])("%s belongs to %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test("an address has 100 failures, and 10 more per second; the /64 of IPv6 is one address", () => {
  const brake = new AuthenticationBrake(new Lines(), 1_000);
  expect(within(brake, "192.0.2.1", 150, 0)).toBe(BURST);
  expect(within(brake, "192.0.2.1", 150, 1_000)).toBe(10);
  expect(within(brake, "192.0.2.2", 150, 1_000)).toBe(BURST);
  expect(within(brake, "192.0.2.1", 150, 100_000)).toBe(BURST);
  expect(within(brake, "2001:db8::1", 60, 0) + within(brake, "2001:db8::2", 60, 0)).toBe(BURST);
});

test("with as many addresses as it holds, new ones share one budget until an old one is whole again", () => {
  const brake = new AuthenticationBrake(new Lines(), 1_000);
  for (let i = 0; i < NETWORKS_MAX; i++) brake.failed(`10.0.${i >> 8}.${i & 255}`, 0);
  expect(within(brake, "192.0.2.1", 60, 0) + within(brake, "192.0.2.2", 60, 0)).toBe(BURST);
  // The first ten addresses are forgotten for new ones after 10 s, and not before.
  expect(within(brake, "192.0.2.3", BURST, 9_999)).toBeLessThan(BURST);
  expect(within(brake, "192.0.2.4", BURST, 10_000)).toBe(BURST);
  expect(within(brake, "192.0.2.5", BURST, 10_000)).toBe(BURST);
});

test("one line per 10 s, with the address and the counts", () => {
  const lines = new Lines();
  const brake = new AuthenticationBrake(lines, 1_000);
  within(brake, "192.0.2.1", 150, 0);
  expect(lines.warned).toEqual([{ address: "192.0.2.1", failures: 101, failuresOfAll: 101 }]);
  within(brake, "192.0.2.1", 150, 9_999);
  expect(lines.warned.length).toBe(1);
  within(brake, "192.0.2.2", 101, 10_000);
  expect(lines.warned[1]).toEqual({ address: "192.0.2.2", failures: 101, failuresOfAll: 49 + 150 + 101 });
});

test("late answers hold at most a tenth of the connections; further ones are sent at once", () => {
  const brake = new AuthenticationBrake(new Lines(), 20);
  let answered = 0;
  for (let i = 0; i < 5; i++) brake.delay(() => answered++);
  expect(answered).toBe(3);
});
