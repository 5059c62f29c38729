/** The examples, run as they stand, on the source. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";

test("failed-logins: three failures lock a user, right passwords cost nothing, and others are not affected", async () => {
  process.env["PORT"] = "0";
  const { server } = (await import("../../examples/failed-logins.mjs")) as { server: Server };
  if (!server.listening) await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const login = async (user: string, password: string) => {
    const query = new URLSearchParams({ user, password });
    const answer = await fetch(`http://127.0.0.1:${port}/?${query}`);
    return [answer.status, (await answer.text()).trim(), answer.headers.has("retry-after")];
  };
  expect(await login("ada", "correct horse")).toEqual([200, "welcome", false]);
  for (const left of [2, 1, 0])
    expect(await login("ada", "x")).toEqual([401, `wrong password, ${left} tries left`, false]);
  // Before, a failure that did not fit was dropped, and a recipe that asked for a cost of 0 never blocked: 10 of 10 passed a limit of 3.
  for (let i = 0; i < 7; i++) expect(await login("ada", "x")).toEqual([429, "too many failed logins", true]);
  expect(await login("ada", "correct horse")).toEqual([429, "too many failed logins", true]);
  expect(await login("eve", "x")).toEqual([401, "wrong password, 2 tries left", false]);
  expect((await login("x".repeat(513), "x"))[0]).toBe(400);
  server.close();
});
