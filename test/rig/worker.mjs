/**
 * A real process of a region: the built package, a load of its own, and a history of what it did, in the simulator's format.
 *
 * A line is in its file before anything that follows from it can happen, so that a process that is killed leaves the whole truth
 * behind. SIGTERM ends it politely: exit code 0 says that nothing was lost, else it says how much.
 *
 * @typedef {object} WorkerOptions
 * @property {string} name
 * @property {string} region
 * @property {WorkerGlobal | null} global
 * @property {string} history where its lines go
 * @property {{ url: string } | null} redis options of redisOrigin; null: the origin is the parent's
 * @property {number} storePid the process of that Redis; of a parent, 0
 * @property {number} calmMs what a call to the origin may take, as the checker knows it
 * @property {number} wallOffsetMs wall time of this world, less the machine's monotonic time
 * @property {{ identifiers: number, perSecond: number, limit: number, durationMs: number }} load
 * @property {number} flushMs
 * @property {number} closeTimeoutMs
 *
 * @typedef {object} WorkerGlobal where regions meet
 * @property {"mysql" | "postgres"} kind
 * @property {string} url
 * @property {number} roundMs how often it publishes, and imports
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { Limiter, sharedOrigin } from "sluice";
import { redisOrigin } from "sluice/redis";
import { watched } from "./starvation.mjs";

/** @type {WorkerOptions} */
const options = JSON.parse(process.argv[2] ?? "{}");
const { name, region, global, wallOffsetMs, load, flushMs, closeTimeoutMs, calmMs } = options;
const { identifiers, perSecond, limit, durationMs } = load;

const ORPHAN_MS = 20_000;

/** The same for all processes of the machine, and never going back. */
const worldMs = () => wallOffsetMs + Number(process.hrtime.bigint()) / 1e6;

const file = openSync(options.history, "a");
let latestMs = 0;
/** @type {Set<() => void>} */
const pending = new Set();
/**
 * A decision happened when its clock was read, not when its line is written: a busy machine may stop the process in between, and the
 * checker compares the two. It stays behind the lines before it.
 *
 * @param {object} event
 */
function tell(event) {
  // The call that it could not wait for may outlive this process.
  if ("degraded" in event && event.degraded === true) for (const look of pending) look();
  const nowMs = worldMs();
  const { kind, wallMs = nowMs } = /** @type {{ kind?: string, wallMs?: number }} */ (event);
  latestMs = Math.max(latestMs, kind === "decision" ? Math.min(nowMs, wallMs) : nowMs);
  writeSync(file, `${JSON.stringify({ atMs: latestMs, process: name, event })}\n`);
}

tell({ kind: "begun", region });
const origin = options.redis === null ? sharedOrigin(process) : redisOrigin(options.redis);
// Whoever was to stop it may be gone as well.
process.once("disconnect", () => setTimeout(() => process.exit(3), ORPHAN_MS).unref());
let messages = 0;
const storePid = options.redis === null ? process.ppid : options.storePid;

/**
 * A call that was slow because this process or the origin had no processor is a fault of the machine, which the history must show.
 *
 * @template T
 * @param {() => Promise<T>} call
 */
function starvable(call) {
  return watched(
    call,
    storePid,
    calmMs,
    (tookMs) => {
      const nowMs = worldMs();
      const lines = [true, false].map((isOn) => {
        const event = { kind: "fault", fault: "origin-stalled", target: region, isOn };
        return `${JSON.stringify({ atMs: isOn ? nowMs - tookMs : nowMs, process: "world", event })}\n`;
      });
      // At once: a kill in between would leave a fault that never ends.
      writeSync(file, lines.join(""));
    },
    pending,
  );
}

/** @type {import("sluice").Origin} */
const counted = {
  raise(raises) {
    messages++;
    return starvable(() => origin.raise(raises));
  },
  read(reads) {
    messages++;
    return starvable(() => origin.read(reads));
  },
  close: () => origin.close(),
};

/** @param {WorkerGlobal} place */
async function layerOf({ kind, url, roundMs }) {
  const place = { url, statementTimeoutMs: 1_000, connectTimeoutMs: 1_000 };
  const counters =
    kind === "mysql"
      ? (await import("sluice/mysql")).mysqlCounters(place)
      : (await import("sluice/postgres")).postgresCounters(place);
  const rounds = { publishMs: roundMs, importMs: roundMs, globalDurationMin: durationMs };
  return { region, global: counters, ...rounds };
}

const limiter = new Limiter({
  origin: counted,
  ...(global === null ? {} : await layerOf(global)),
  flushMs,
  closeTimeoutMs,
  // Both clocks are world time, so that a flush's beginning can be compared with decisions to the moment.
  clock: { wallMs: () => Math.floor(worldMs()), monoMs: worldMs },
  trace: tell,
});

let isOn = true;
let asked = 0;
let errors = 0;
let beganMs = 0;

/** As many requests as are due by now, without waiting for their answers: callers do not wait for each other. */
function ask() {
  if (!isOn) return;
  const due = Math.min(asked + 1_000, ((performance.now() - beganMs) / 1_000) * perSecond);
  for (; asked < due; asked++) {
    const request = { namespace: "api", identifier: `user_${asked % identifiers}`, limit, duration: durationMs };
    limiter.limit(request).catch(() => {
      errors++;
    });
  }
  setTimeout(ask, 1);
}

async function stop() {
  isOn = false;
  const { lost } = await limiter.close();
  tell(gauges());
  tell({ kind: "stopped", lost, wallMs: Math.floor(worldMs()) });
  closeSync(file);
  if (lost > 0) console.error(`lost: ${lost}`);
  process.exit(lost === 0 && errors === 0 ? 0 : 1);
}

/** What it counted of itself: the checker compares it with what it told. */
function gauges() {
  const { decisions, cells, origin: layer, global: world } = limiter.stats();
  const { allowed, denied, unrecorded, degraded } = decisions;
  return {
    kind: "gauges",
    allowed,
    deniedLimit: denied.limit,
    deniedCost: denied.cost,
    deniedFull: denied.full,
    deniedBatch: denied.batch,
    unrecorded,
    degraded,
    cellsLive: cells.live,
    cellsMax: cells.max,
    unreplayed: layer?.unreplayed ?? 0,
    unpublished: world?.unpublished ?? 0,
    readsInFlight: layer?.readsInFlight ?? 0,
    originCalls: (layer?.reads ?? 0) + (layer?.raises ?? 0),
    originMessages: messages,
    rowsPublished: world?.rowsPublished ?? 0,
    cellsImported: world?.cellsImported ?? 0,
    denialsEmitted: 0,
    denialsInflated: 0,
    waiting: 0,
  };
}

process.once("SIGTERM", () => void stop());

if (origin.health?.().isConnected === false) await new Promise((resolve) => origin.listen?.(resolve));
// Else its first allows would be degraded, as the checker says of a process that has imported.
await limiter.ready();
beganMs = performance.now();
ask();
console.log(`ready ${name} ${process.pid}`);
