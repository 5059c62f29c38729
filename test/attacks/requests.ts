/** Attacks by requests, with a key of the hostile workspace or a guessed one, each at a fixed rate. */
import { Agent, request } from "node:http";
import { request as requestTls, Agent as TlsAgent } from "node:https";
import { type Attack, HOSTILE_ADDRESS, type Tally, type Target } from "./attack.ts";

/** A request that is not answered for so long is given up. */
const GIVEN_UP_MS = 10_000;
/** Of one attack. A server that answers slowly is asked less, so that the attacker's own memory is bounded. */
const OPEN_MAX = 8;
const MONTH_MS = 2_592_000_000;
const BATCH = 100;
/** 511 characters of four bytes. */
const EMOJI = "\u{1F600}".repeat(505);

interface Call {
  readonly operation: string;
  readonly body: unknown;
  readonly key?: string;
}

/** Sends `callOf(i)` every so often, over connections that are kept. */
function every(ms: number, target: Target, tally: Tally, callOf: (index: number) => Call): void {
  const kept = { keepAlive: true, maxSockets: OPEN_MAX };
  const agent = target.isTls ? new TlsAgent({ ...kept, rejectUnauthorized: false }) : new Agent(kept);
  let index = 0;
  let open = 0;
  setInterval(() => {
    if (open >= OPEN_MAX) return tally.count("waiting");
    open++;
    post(target, agent, callOf(index++), (outcome) => {
      open--;
      tally.count(outcome);
    });
  }, ms);
}

function post({ port, key, isTls }: Target, agent: Agent, call: Call, done: (outcome: string | number) => void): void {
  const body = JSON.stringify(call.body);
  const headers = {
    authorization: `Bearer ${call.key ?? key}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  };
  const path = `/v2/ratelimit.${call.operation}`;
  const where = { port, host: "127.0.0.1", localAddress: HOSTILE_ADDRESS, path, method: "POST" };
  const asked = (isTls ? requestTls : request)({ ...where, agent, headers, timeout: GIVEN_UP_MS }, (answer) => {
    answer.resume();
    answer.once("end", () => done(answer.statusCode ?? 0));
    answer.once("error", () => done("cut"));
  });
  asked.once("timeout", () => asked.destroy(new Error("timeout")));
  asked.once("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
  asked.end(body);
}

const batch = (itemOf: (item: number) => object): Call => ({
  operation: "multiLimit",
  body: Array.from({ length: BATCH }, (_, item) => itemOf(item)),
});

const rule = { limit: 5, duration: 60_000 } as const;
const READS = ["listChanges", "listNamespaces", "topIdentifiers", "listOverrides"] as const;

export const REQUEST_ATTACKS: readonly Attack[] = [
  {
    name: "long identifiers",
    start: (target, tally) =>
      every(250, target, tally, (i) =>
        batch((item) => ({ namespace: "long", identifier: `${EMOJI}${(i * BATCH + item).toString(36)}`, ...rule })),
      ),
  },
  {
    name: "rows for a month",
    start: (target, tally) =>
      every(250, target, tally, (i) =>
        batch((item) => ({ namespace: "rows", identifier: `r${i * BATCH + item}`, limit: 1, duration: MONTH_MS })),
      ),
  },
  {
    name: "new namespaces in batches",
    start: (target, tally) =>
      every(1_000, target, tally, (i) =>
        batch((item) => ({ namespace: `new_${i}_${item}_${Date.now()}`, identifier: "x", ...rule })),
      ),
  },
  {
    name: "patterns",
    start: (target, tally) =>
      every(50, target, tally, (i) => ({
        operation: "setOverride",
        body: { namespace: "patterns", identifier: `*${"a*".repeat(200)}z${i.toString(36)}*`, ...rule },
      })),
  },
  {
    name: "identifiers that meet the patterns",
    start: (target, tally) =>
      every(500, target, tally, (i) =>
        batch((item) => ({ namespace: "patterns", identifier: `${"a".repeat(480)}_${i * BATCH + item}`, ...rule })),
      ),
  },
  {
    name: "long overrides",
    start: (target, tally) =>
      every(50, target, tally, (i) => ({
        operation: "setOverride",
        body: { namespace: "rows", identifier: `${EMOJI}${i.toString(36)}`, ...rule },
      })),
  },
  {
    name: "large changes for the audit trail",
    start: (target, tally) =>
      every(50, target, tally, (i) => ({
        operation: "setOverride",
        body: { namespace: "audit", identifier: EMOJI, limit: i % 2, duration: 60_000 },
      })),
  },
  {
    name: "expensive reads",
    start: (target, tally) =>
      every(100, target, tally, (i) => {
        const operation = READS[i % READS.length]!;
        return { operation, body: operation === "listNamespaces" ? {} : { namespace: "long" } };
      }),
  },
  {
    name: "guessed keys",
    start: (target, tally) =>
      every(10, target, tally, (i) => ({
        operation: "limit",
        body: { namespace: "long", identifier: "x", ...rule },
        key: `sluice_${String(i).padStart(38, "0")}`,
      })),
  },
];
