/** Counting by outcome: which ends of a request count, on a real server whose clients leave before the answer. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { Limiter } from "../limiter/limiter.ts";
import { byHeader } from "./keys.ts";
import { nodeMiddleware } from "./node-adapter.ts";
import { isCounted } from "./outcome.ts";

const END = { status: 200, hasThrown: false, isUnanswered: false, response: undefined };

describe("outcome", () => {
  test("a status of 400 or above, or a handler that throws, is a failure", () => {
    const counted = (counts: "failures" | "successes") =>
      [END, { ...END, status: 399 }, { ...END, status: 400 }, { ...END, hasThrown: true }].map((end) =>
        isCounted(counts, end),
      );
    expect(counted("failures")).toEqual([false, false, true, true]);
    expect(counted("successes")).toEqual([true, true, false, false]);
  });

  test.each(["failures", "successes", () => false] as const)(
    "a client that leaves before the answer is counted, whichever outcomes count (%s)",
    async (count) => {
      const limiter = new Limiter({ cellsMax: 100 });
      const limited = nodeMiddleware({ limiter, key: byHeader("x-client"), limit: 5, duration: "30d", count });
      const client = new AbortController();
      // The handler never answers: its client leaves as soon as it is called.
      const server = createServer((request, response) => limited(request, response, () => client.abort()));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      await expect(
        fetch(`http://127.0.0.1:${port}/`, { headers: { "x-client": "a" }, signal: client.signal }),
      ).rejects.toThrow(/abort/);
      const key = { namespace: "default", identifier: "a", duration: "30d" } as const;
      await expect.poll(() => limiter.inspect(key).effective).toBe(1);
      server.close();
      server.closeAllConnections();
      await limiter.close();
    },
  );
});
