/** `sluice serve --workers 2`: one port, one count, and nobody missed when one of them dies. */
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { poll } from "../rig/poll.ts";
import { freeze, hasEnded, kill, thaw } from "../rig/process-signals.ts";
import { type Answer, SluiceServer } from "../rig/sluice-server.ts";
import { STARVED_MAX_MS } from "../rig/starvation.ts";

/** So long that no window ends during the test. */
const KEY = { namespace: "api", identifier: "user_1", limit: 10, duration: 30 * 86_400_000 };

let folder = "";
let server: SluiceServer;
beforeAll(async () => {
  folder = temporaryFolder();
  server = await SluiceServer.start(folder, { args: ["--workers", "2"] });
});
afterAll(async () => {
  await server.stop("SIGKILL");
  removeFolder(folder);
});

/** On a connection of its own: the parent deals them out in turn. */
function ask(body: object): Promise<Answer["body"]> {
  return post("limit", { ...KEY, ...body });
}

function post(operation: string, body: object): Promise<Answer["body"]> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
    const url = `${server.url}/v2/ratelimit.${operation}`;
    const asked = request(url, { method: "POST", headers, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on("end", () =>
        response.statusCode === 200 ? resolve(JSON.parse(text).data) : reject(new Error(text)),
      );
    });
    asked.on("error", reject);
    asked.end(JSON.stringify(body));
  });
}

/** What a run brings in which the server has not guessed: a worker without a processor for 300 ms does, and says so in its metrics. */
async function undegraded<T>(run: (number: number) => Promise<T>): Promise<T> {
  let runs = 0;
  const degraded = async () => (await server.metrics()).sum("sluice_decisions_degraded_total", {}) ?? Number.NaN;
  const once = async () => {
    const before = await degraded();
    const value = await run(++runs);
    return (await degraded()) === before ? { value } : undefined;
  };
  return (await poll("a run without degraded answers", once, STARVED_MAX_MS)).value;
}

function readyWith(status: number): () => Promise<Awaited<ReturnType<SluiceServer["ready"]>> | undefined> {
  return async () => {
    const answer = await server.ready();
    return answer.status === status ? answer : undefined;
  };
}

function workerPids(): Map<unknown, number> {
  return new Map(server.log("worker.started").map(({ worker, workerPid }) => [worker, Number(workerPid)]));
}

describe("what is asked of all workers", () => {
  const at = (operation: string) =>
    fetch(`${server.url}/v2/${operation}`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json" },
      body: "{}",
    });

  test("a live snapshot has the decisions of both, and server.status describes both", async () => {
    const asked = { namespace: "watched", identifier: "user_1", limit: 3, duration: 30 * 86_400_000 };
    for (let i = 0; i < 8; i++) await post("limit", asked);
    const response = await at("ratelimit.live");
    let text = "";
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.includes("\n\n")) break;
    }
    const snapshot = JSON.parse(/^data: (.*)$/m.exec(text)![1]!);
    const watched = snapshot.namespaces.find(({ name }: { name: string }) => name === "watched");
    expect([watched.allowed + watched.denied, snapshot.server.processes]).toEqual([8, 2]);
    expect(snapshot.server.layers.region.status).toBe("ok");
    const { data } = (await (await at("server.status")).json()) as { data: Record<string, unknown> };
    expect(data).toMatchObject({ ready: true, processes: 2, region: "default" });
    const { data: listed } = (await (await at("server.settings")).json()) as { data: { settings: unknown[] } };
    expect(listed.settings).toContainEqual({ name: "workers", value: "2", source: "--workers" });
  });
});

describe("sluice serve --workers 2", () => {
  test("shares the port, and one count: what one of them accepted, the other denies", async () => {
    for (const cost of [5, 5]) expect((await ask({ cost })).success).toBe(true);
    // Neither lets 6 more in by what it accepted itself; after a denial each asks the origin before it allows, peeks included.
    for (const cost of [6, 6]) expect((await ask({ cost })).success).toBe(false);
    await poll("both to know", async () => {
      const peeks = [await ask({ cost: 0 }), await ask({ cost: 0 }), await ask({ cost: 0 }), await ask({ cost: 0 })];
      return peeks.every(({ remaining }) => remaining === 0);
    });
    for (let i = 0; i < 4; i++) expect((await ask({})).success).toBe(false);
    const { body } = await poll("to be ready", readyWith(200), STARVED_MAX_MS);
    expect(body).toMatchObject({ ready: true, layers: { region: { status: "ok" } } });
  });

  test("requests one after the other, each on its own connection: exactly the limit is allowed", async () => {
    for (const limit of [1, 5, 10]) {
      const answers = await undegraded(async (run) => {
        const key = { identifier: `one_by_one_${limit}_${run}`, namespace: "exact", limit };
        const all: Answer["body"][] = [];
        for (let i = 0; i < limit + 3; i++) all.push(await ask(key));
        return all.map(({ success, remaining }) => [success, remaining]);
      });
      const allowed = Array.from({ length: limit }, (_, i) => [true, limit - 1 - i]);
      const denied = Array.from({ length: 3 }, () => [false, 0]);
      expect(answers).toEqual([...allowed, ...denied]);
    }
    const answers = await undegraded(async (run) => {
      const batch = [{ ...KEY, namespace: "exact", identifier: `batches_${run}`, limit: 5, cost: 2 }];
      const all: unknown[] = [];
      for (let i = 0; i < 4; i++) all.push((await post("multiLimit", batch))["passed"]);
      return all;
    });
    expect(answers).toEqual([true, true, false, false]);
  });

  test("ranks identifiers by what all workers counted, and says so when one is silent", async () => {
    const top = () => post("topIdentifiers", { namespace: "api" });
    const user = { identifier: "user_1", atLeast: 10, atMost: 10 };
    const told = { total: 10, errorMax: 0, complete: true, identifiers: [user], othersAtMost: 0 };
    const isWhole = async () => {
      const answers = await Promise.all([top(), top(), top()]);
      return answers.every(({ complete }) => complete === true) && answers;
    };
    expect(await poll("all workers answer", isWhole, STARVED_MAX_MS)).toMatchObject([told, told, told]);
    const pid = workerPids().get(1)!;
    await freeze(pid);
    // One of two connections is the other worker's.
    const both = [top(), top()];
    const first = await Promise.any(both).finally(() => thaw(pid));
    expect(first).toMatchObject({ complete: false });
    await Promise.all(both);
  });

  test("reports the counts that the parent holds for its workers, once", async () => {
    await ask({ identifier: "held by the parent" });
    const read = async (name: string, labels = {}) => (await server.metrics()).sum(name, labels) ?? Number.NaN;
    await poll(
      "the parent has it",
      async () => (await read("sluice_parent_operations_total", { operation: "raise" })) > 0,
    );
    expect(await read("sluice_parent_cells")).toBeGreaterThan(0);
    expect(await read("sluice_parent_cells_max")).toBe(2 * 1_048_576);
    expect(await read("sluice_parent_bytes")).toBeLessThan(await read("sluice_parent_bytes_max"));
  });

  test("is not ready while one of them does not answer", async () => {
    const pid = workerPids().get(1)!;
    await freeze(pid);
    const reason = "1 of 2 workers do not respond";
    const isOneSilent = async () => (await server.ready()).body["reason"] === reason && server.ready();
    const { status, body } = await poll("one does not answer", isOneSilent, STARVED_MAX_MS).finally(() => thaw(pid));
    expect([status, body["ready"], body["reason"]]).toEqual([503, false, reason]);
    await poll("to be ready again", readyWith(200), STARVED_MAX_MS);
  });

  test("replaces a worker that is killed, and the count stands", async () => {
    const pid = workerPids().get(1)!;
    await kill(pid);
    await poll("another worker 1", () => workerPids().get(1) !== pid, STARVED_MAX_MS);
    expect(server.log("worker.died")).toMatchObject([{ worker: 1, replacedAfterMs: 100 }]);
    for (let i = 0; i < 4; i++) expect((await ask({})).success).toBe(false);
    // What it had counted for the ranking is gone.
    expect(await post("topIdentifiers", { namespace: "api" })).toMatchObject({ complete: false });
  });

  test("a connection that a worker got and did not accept before it was killed is answered by another", async () => {
    const pid = workerPids().get(1)!;
    await poll("to be ready", readyWith(200), STARVED_MAX_MS);
    await freeze(pid);
    // The parent hands one of them to the frozen worker, and the others to the one that replies.
    const asked = Array.from({ length: 4 }, () => ask({ cost: 0 }));
    let answered = 0;
    for (const one of asked) void one.then(() => answered++);
    await poll("all but one are answered", () => answered === asked.length - 1, STARVED_MAX_MS);
    await kill(pid);
    expect(await Promise.all(asked)).toHaveLength(4);
    await poll("another worker 1", () => workerPids().get(1) !== pid, STARVED_MAX_MS);
    await poll("to be ready", readyWith(200), STARVED_MAX_MS);
  });

  test("stops all of them, and ends with 0", async () => {
    const { code, out } = await server.stop();
    expect(code).toBe(0);
    expect(out.match(/Sluice listens on/g)).toHaveLength(1);
    expect(out.match(/Root key written to/g)).toHaveLength(1);
    for (const pid of workerPids().values()) expect(hasEnded(pid)).toBe(true);
  });

  test("workers end with their parent, however it ends", async () => {
    server = await SluiceServer.start(folder, { args: ["--workers", "2"] });
    const pids = [...workerPids().values()];
    expect(pids).toHaveLength(2);
    await server.stop("SIGKILL");
    await poll("their end", () => pids.every(hasEnded));
  });
});
