import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { admitConformance } from "./admit-conformance.ts";
import { holdConformance } from "./hold-conformance.ts";
import { MemoryOrigin } from "./memory-origin.ts";
import { originConformance } from "./origin-conformance.ts";
import { type MessageChannel, OriginHost, SharedOrigin } from "./shared-origin.ts";

/** Two ends of a channel; what is sent arrives in a later turn, as a copy. */
function channel(): { worker: EventEmitter & MessageChannel; parent: EventEmitter & MessageChannel } {
  const end = () => new EventEmitter() as EventEmitter & MessageChannel;
  const [worker, parent] = [end(), end()];
  const pass = (to: EventEmitter) => (message: object, callback: (error: null) => void) => {
    const text = JSON.stringify(message);
    setImmediate(() => {
      callback(null);
      to.emit("message", JSON.parse(text));
    });
  };
  worker.send = pass(parent);
  parent.send = pass(worker);
  return { worker, parent };
}

for (const conformance of [originConformance, admitConformance, holdConformance]) {
  conformance("shared by the workers of one parent", async () => {
    const time = new ManualTime();
    const { worker, parent } = channel();
    new OriginHost(new MemoryOrigin(time.clock)).serve(parent);
    return { origin: new SharedOrigin(worker), nowMs: () => time.wallMs, elapse: (ms) => time.advance(ms) };
  });
}

const read = { key: "a", sequence: 1, writer: "w" };
const raise = { ...read, total: 5, expiresAtMs: Number.MAX_SAFE_INTEGER };
const admit = {
  ...raise,
  ...{ previousTotal: 0, previousExpiresAtMs: Number.MAX_SAFE_INTEGER, foreign: 0, previousForeign: 0 },
  ...{ leftMs: 500, durationMs: 1_000 },
  requests: [{ limit: 100, cost: 1 }],
  call: 1,
};

const none = {
  total: 0,
  previousTotal: 0,
  known: 0,
  previousKnown: 0,
  foreign: 0,
  previousForeign: 0,
  heldInMemory: 0,
};
const hold = {
  ...{ id: "i", ttlMs: 1_000, atMs: 0, byMs: new ManualTime().wallMs + 1_000, holdsMax: 10 },
  items: [{ key: "a", durationMs: 1_000, sequence: 1, limit: 1, cost: 1, writer: "w", ...none }],
};
const name = { key: "a", durationMs: 1_000, sequence: 1, id: "i" };
const free = { ...name, verb: "settle", actual: 1, ttlMs: 0, writer: "w", known: 0 } as const;

describe("shared origin", () => {
  test("the workers of one parent have one count", async () => {
    const time = new ManualTime();
    const host = new OriginHost(new MemoryOrigin(time.clock));
    const origins = Array.from({ length: 3 }, () => {
      const { worker, parent } = channel();
      host.serve(parent);
      return new SharedOrigin(worker);
    });
    await Promise.all(origins.map((origin, i) => origin.raise([{ ...raise, writer: `w${i}` }])));
    expect(await origins[0]!.read([read])).toEqual([{ sum: 15, component: 0 }]);
  });

  test("a parent that goes away fails what waits, and what comes after", async () => {
    const { worker } = channel();
    const origin = new SharedOrigin(worker);
    const waiting = origin.read([read]);
    worker.emit("disconnect");
    await expect(waiting).rejects.toThrow("does not answer");
    worker.send = () => {
      throw new Error("channel closed");
    };
    await expect(origin.read([read])).rejects.toThrow("does not answer");
    worker.send = (_, callback) => process.nextTick(callback, new Error("channel closed"));
    await expect(origin.read([read])).rejects.toThrow("does not answer");
    worker.send = undefined;
    await expect(origin.raise([raise])).rejects.toThrow("does not answer");
  });

  test("messages of others, and nonsense, are left alone on both sides", async () => {
    const { worker, parent } = channel();
    new OriginHost(new MemoryOrigin(new ManualTime().clock)).serve(parent);
    const origin = new SharedOrigin(worker);
    const mark = "sluice/origin/2";
    const nonsense = [
      null,
      7,
      "x",
      {},
      { mark },
      { mark, id: 1, ask: "close", cells: [] },
      { mark, id: 1, counts: null },
    ];
    for (const message of [...nonsense, { mark, id: 1, ask: "raise", cells: [{ ...raise, total: -1 }] }]) {
      parent.emit("message", message);
      worker.emit("message", message);
    }
    expect(await origin.raise([raise])).toEqual([{ sum: 5, component: 5 }]);
  });

  test.each([
    ["no total", { total: undefined }],
    ["a total below 0", { total: -1 }],
    ["no previous total", { previousTotal: undefined }],
    ["a fraction as a foreign count", { foreign: 0.5 }],
    ["a foreign count that is not exact", { previousForeign: 2 ** 53 }],
    ["no expiry", { expiresAtMs: undefined }],
    ["an expiry that is not a number", { previousExpiresAtMs: "soon" }],
    ["more left than the window has", { leftMs: 1_001 }],
    ["less than nothing left", { leftMs: -1 }],
    ["a window without a duration", { leftMs: 0, durationMs: 0 }],
    ["no requests", { requests: undefined }],
    ["an empty list of requests", { requests: [] }],
    ["65 requests", { requests: Array(65).fill({ limit: 1_000, cost: 1 }) }],
    ["a request that is null", { requests: [null] }],
    ["a cost of 0", { requests: [{ limit: 1, cost: 0 }] }],
    ["a limit below 0", { requests: [{ limit: -1, cost: 1 }] }],
    ["no key", { key: undefined }],
  ])("an admit with %s is left alone: it is neither answered nor counted", async (_, wrong) => {
    const { worker, parent } = channel();
    const host = new OriginHost(new MemoryOrigin(new ManualTime().clock));
    host.serve(parent);
    const origin = new SharedOrigin(worker);
    parent.emit("message", { mark: "sluice/origin/2", id: 1, ask: "admit", cells: [admit, { ...admit, ...wrong }] });
    expect(host.stats()).toMatchObject({ cells: 0, asked: { admit: 0 } });
    expect(await origin.admit([admit])).toMatchObject([{ allowed: [true], current: { sum: 6, component: 6 } }]);
  });

  test.each([
    ["no id", { id: undefined }],
    ["an id that is too long", { id: "x".repeat(65) }],
    ["no deadline", { byMs: undefined }],
    ["a ttl that is not a number", { ttlMs: "5m" }],
    ["no items", { items: [] }],
    ["65 items", { items: Array(65).fill(hold.items[0]) }],
    ["an item that is null", { items: [null] }],
    ["a cost below 0", { items: [{ ...hold.items[0], cost: -1 }] }],
    ["a window without a duration", { items: [{ ...hold.items[0], durationMs: 0 }] }],
    ["no writer", { items: [{ ...hold.items[0], writer: 7 }] }],
  ])("a hold with %s is left alone: it is neither answered nor held", async (_, wrong) => {
    const { worker, parent } = channel();
    const host = new OriginHost(new MemoryOrigin(new ManualTime().clock));
    host.serve(parent);
    parent.emit("message", { mark: "sluice/origin/2", id: 1, ask: "hold", cells: [{ ...hold, ...wrong }] });
    expect(host.stats()).toMatchObject({ holds: 0, asked: { hold: 0 } });
    const origin = new SharedOrigin(worker);
    expect((await origin.hold(hold)).code).toBe("window");
  });

  test.each([
    ["no time", { atMs: undefined }],
    ["no frees", { frees: [] }],
    ["an unknown verb", { frees: [{ ...free, verb: "extend" }] }],
    ["an empty id", { frees: [{ ...free, id: "" }] }],
    ["a fraction to count", { frees: [{ ...free, actual: 0.5 }] }],
    ["no key", { frees: [{ ...free, key: undefined }] }],
  ])("a free with %s is left alone", async (_, wrong) => {
    const { worker, parent } = channel();
    const host = new OriginHost(new MemoryOrigin(new ManualTime().clock));
    host.serve(parent);
    parent.emit("message", {
      mark: "sluice/origin/2",
      id: 1,
      ask: "free",
      cells: [{ frees: [free], atMs: 7, ...wrong }],
    });
    expect(host.stats().asked.free).toBe(0);
    const origin = new SharedOrigin(worker);
    expect((await origin.free([free], 7)).code).toBe("window");
  });

  test("its life is that of the parent: one number until the channel is closed", async () => {
    const { worker } = channel();
    const origin = new SharedOrigin(worker);
    const life = origin.life();
    expect(life).toEqual(expect.any(Number));
    worker.emit("disconnect");
    expect(origin.life()).not.toBe(life);
  });

  test("the parent reports what it holds, what it forgot, and how many cells its workers asked for", async () => {
    const { worker, parent } = channel();
    const host = new OriginHost(new MemoryOrigin(new ManualTime().clock, 1));
    host.serve(parent);
    const origin = new SharedOrigin(worker);
    expect(host.stats()).toEqual({
      cells: 0,
      cellsMax: 2,
      bytes: 0,
      bytesMax: 640,
      evicted: 0,
      holds: 0,
      asked: { read: 0, raise: 0, admit: 0, hold: 0, free: 0 },
    });
    for (let i = 0; i < 3; i++) await origin.raise([{ ...raise, key: `${i}` }]);
    await origin.read([read, read]);
    await origin.admit([{ ...admit, total: 0, requests: [{ limit: 0, cost: 1 }] }]);
    expect(host.stats()).toMatchObject({ cells: 2, evicted: 1, asked: { read: 2, raise: 3, admit: 1 } });
    expect(host.stats().bytes).toBeGreaterThan(2 * 216);
  });

  test("an origin that fails behind the parent fails for the worker", async () => {
    const { worker, parent } = channel();
    const fails = async () => {
      throw new Error("away");
    };
    const { held } = new MemoryOrigin(new ManualTime().clock);
    new OriginHost({ raise: fails, read: fails, admit: fails, hold: fails, free: fails, held }).serve(parent);
    const origin = new SharedOrigin(worker);
    await expect(origin.read([read])).rejects.toThrow("does not answer");
    await expect(origin.admit([admit])).rejects.toThrow("does not answer");
    await expect(origin.hold(hold)).rejects.toThrow("does not answer");
  });

  test("messages that do not leave the process are bounded: the next call fails at once", async () => {
    const { worker } = channel();
    const stuck: (() => void)[] = [];
    worker.send = (_, callback) => stuck.push(() => callback(null));
    const origin = new SharedOrigin(worker);
    const many = Array.from({ length: 50_000 }, () => read);
    const waiting = [many, many].map((reads) => origin.read(reads).catch(() => "ended"));
    await expect(origin.read([read])).rejects.toThrow("does not answer");
    expect(stuck).toHaveLength(2);
    // The parent goes on: there is room again.
    stuck.shift()?.();
    void origin.read([read]).catch(() => {});
    expect(stuck).toHaveLength(2);
    await origin.close();
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => "ended"));
  });

  test("such messages are bounded in bytes: the longest keys are 12 MiB sooner than short ones", async () => {
    const { worker } = channel();
    const stuck: unknown[] = [];
    worker.send = (message) => stuck.push(message);
    const origin = new SharedOrigin(worker);
    const long = { ...read, key: "\u{1F600}".repeat(1_500) };
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < 3_000; i++) waiting.push(origin.read([long]).catch(() => "ended"));
    // 3 bytes for each of 3,000 units, and 150.
    expect(stuck).toHaveLength(Math.ceil((12 * 2 ** 20) / 9_150));
    await origin.close();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["ended"]));
  });

  test("an admit counts its requests in those bytes", async () => {
    const { worker } = channel();
    const stuck: unknown[] = [];
    worker.send = (message) => stuck.push(message);
    const origin = new SharedOrigin(worker);
    const wide = { ...admit, requests: Array(64).fill({ limit: 2 ** 40, cost: 2 ** 40 }) };
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < 3_500; i++) waiting.push(origin.admit([wide]).catch(() => "ended"));
    // 150 and 3 for the cell, 250 for the other fields, 60 for each request: at least what the message is long.
    const bytes = 150 + 3 + 250 + 64 * 60;
    expect(stuck).toHaveLength(Math.ceil((12 * 2 ** 20) / bytes));
    expect(JSON.stringify(stuck[0]).length).toBeLessThan(bytes);
    await origin.close();
    await Promise.all(waiting);
  });

  test("calls that nobody answers are bounded", async () => {
    const { worker } = channel();
    worker.send = (_, callback) => callback(null);
    const origin = new SharedOrigin(worker);
    const first = origin.read([read]);
    const rest = Array.from({ length: 10_000 }, () => origin.read([read]).catch(() => "failed"));
    await expect(first).rejects.toThrow("does not answer");
    await origin.close();
    expect(await Promise.all(rest)).toEqual(rest.map(() => "failed"));
  });
});
