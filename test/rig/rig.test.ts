import { existsSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { FaultProxy } from "./fault-proxy.ts";
import { poll } from "./poll.ts";
import { RedisServer } from "./redis-server.ts";
import { RespClient } from "./resp-client.ts";
import { encodeCommand, parseFrame } from "./resp-frames.ts";

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});

async function setUp() {
  const server = await RedisServer.start();
  const proxy = await FaultProxy.start(server.port);
  const client = new RespClient(proxy.port);
  open.push(server, proxy);
  return { server, proxy, client };
}

describe("the rig", () => {
  test("frames are cut where they end, however they arrive", () => {
    const whole = encodeCommand(["SET", "a", "\r\n*1\r\n"]);
    for (let length = 0; length < whole.length; length++) {
      expect(parseFrame(whole.subarray(0, length), 0)).toBeUndefined();
    }
    expect(parseFrame(whole, 0)).toEqual({ value: ["SET", "a", "\r\n*1\r\n"], end: whole.length });
    const nested = Buffer.from("%1\r\n+a\r\n*2\r\n:7\r\n_\r\n");
    expect(parseFrame(nested, 0)?.value).toEqual(["a", [7, null]]);
  });

  test("a server can be killed and started again on its port, and its folder goes with it", async () => {
    const server = await RedisServer.start();
    await server.ask("SET", "a", "1");
    await server.kill();
    await server.begin();
    expect(await server.ask("GET", "a")).toBeNull();
    await server.stop();
    await expect(server.ask("PING")).rejects.toThrow("closed");
    expect(existsSync(server.folder)).toBe(false);
  });

  test("the proxy passes commands, one byte at a time too", async () => {
    const { proxy, client } = await setUp();
    proxy.isTrickling = true;
    expect(await client.ask("ECHO", "hello")).toBe("hello");
    expect(proxy.commands.get("ECHO")).toBe(1);
  });

  test("a lost reply is executed, and the connection is gone", async () => {
    const { server, proxy, client } = await setUp();
    proxy.order("lose", "INCR", 2);
    expect(await client.ask("INCR", "a")).toBe(1);
    await expect(client.ask("INCR", "a")).rejects.toThrow("closed");
    expect(await server.ask("GET", "a")).toBe("2");
  });

  test("a duplicated command is executed twice and answered once", async () => {
    const { server, proxy, client } = await setUp();
    proxy.order("duplicate", "INCR");
    expect(await Promise.all([client.ask("INCR", "a"), client.ask("ECHO", "next")])).toEqual([1, "next"]);
    expect(await server.ask("GET", "a")).toBe("2");
  });

  test("held replies come on release, a half-open connection gets none", async () => {
    const { server, proxy, client } = await setUp();
    proxy.hold();
    const answer = client.ask("INCR", "a");
    await poll("it is executed", async () => (await server.ask("GET", "a")) === "1");
    proxy.release();
    expect(await answer).toBe(1);
    proxy.isHalfOpen = true;
    const lost = client.ask("INCR", "a");
    await poll("it is executed", async () => (await server.ask("GET", "a")) === "2");
    proxy.reset();
    await expect(lost).rejects.toThrow("closed");
  });
});
