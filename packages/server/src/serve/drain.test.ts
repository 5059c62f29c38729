import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, test } from "vitest";
import { Drain } from "./drain.ts";

interface Heard {
  readonly status: number;
  readonly connection: string | undefined;
}

async function listening(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<[Server, Drain, number]> {
  const server = createServer(answer);
  const drain = new Drain(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return [server, drain, (server.address() as AddressInfo).port];
}

function ask(port: number, agent: Agent): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const asked = request({ port, host: "127.0.0.1", agent }, (response) => {
      response.resume();
      response.on("end", () => resolve({ status: response.statusCode!, connection: response.headers.connection }));
    });
    asked.on("error", reject);
    asked.end();
  });
}

const once = () => new Agent({ keepAlive: true, maxSockets: 1 });

describe("drain", () => {
  test("a request that comes on an idle connection is answered, and its connection ended; a new connection is refused", async () => {
    const [, drain, port] = await listening((_, response) => {
      response.writeHead(200, ["content-type", "text/plain"]);
      response.end("ok");
    });
    const agent = once();
    expect(await ask(port, agent)).toEqual({ status: 200, connection: "keep-alive" });
    const drained = drain.run(10_000);
    expect(await ask(port, agent)).toEqual({ status: 200, connection: "close" });
    await expect(ask(port, once())).rejects.toThrow("ECONNREFUSED");
    expect(await drained).toBe(0);
  });

  test("a request that is under way is answered, however long the others have been gone", async () => {
    let begin = (_: ServerResponse) => {};
    const begun = new Promise<ServerResponse>((resolve) => {
      begin = resolve;
    });
    const [, drain, port] = await listening((_, response) => begin(response));
    const late = ask(port, once());
    const response = await begun;
    const drained = drain.run(10_000);
    // Longer than idle connections are kept.
    setTimeout(() => response.end("late"), 700);
    expect((await late).status).toBe(200);
    expect(await drained).toBe(0);
  });

  test("connections that nobody uses do not hold it, opened and silent or kept alive", async () => {
    const [, drain, port] = await listening((_, response) => response.end());
    const silent = connect(port, "127.0.0.1");
    const closed = new Promise<void>((resolve) => silent.on("close", () => resolve()));
    await ask(port, once());
    const beganMs = performance.now();
    expect(await drain.run(60_000)).toBe(0);
    expect(performance.now() - beganMs).toBeLessThan(30_000);
    await closed;
  });

  test("at the deadline what is left is cut, and counted", async () => {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const [, drain, port] = await listening(() => begin());
    const cut = ask(port, once());
    cut.catch(() => {});
    await begun;
    expect(await drain.run(50)).toBe(1);
    await expect(cut).rejects.toThrow();
  });
});
