/**
 * The attacker: a process of its own, so that its work is not mistaken for the server's, and of the lowest priority, because both share
 * the processors.
 *
 * Reads its target from SLUICE_ATTACK_TARGET, attacks until its standard input ends, and prints what came of each attack as JSON.
 */
import { setPriority } from "node:os";
import { type Attack, Tally, type Target } from "./attack.ts";
import { CONNECTION_ATTACKS } from "./connections.ts";
import { REQUEST_ATTACKS } from "./requests.ts";

const LOWEST = 19;
/** Nothing here outlives this, whoever forgets to stop it. */
const LONGEST_MS = 15 * 60_000;

const ATTACKS: readonly Attack[] = [...CONNECTION_ATTACKS, ...REQUEST_ATTACKS];

interface Order extends Target {
  /** The names of the attacks; empty: all of them. */
  readonly only: readonly string[];
}

const order = JSON.parse(process.env["SLUICE_ATTACK_TARGET"] ?? "null") as Order;
setPriority(LOWEST);
const tallies = new Map<string, Tally>();
for (const attack of ATTACKS) {
  if (order.only.length > 0 && !order.only.includes(attack.name)) continue;
  const tally = new Tally();
  tallies.set(attack.name, tally);
  attack.start(order, tally);
}

function finish(): void {
  const report = Object.fromEntries([...tallies].map(([name, tally]) => [name, tally.read()]));
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
}
process.stdin.once("end", finish).resume();
setTimeout(finish, LONGEST_MS);
