import { once } from "node:events";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { readBody } from "./request-body.ts";

const BYTES_MAX = 5_000;

/** What arrives of a body that is sent in these parts, the sum of what was held, and the status of a refusal. */
async function received(parts: readonly string[]): Promise<{ text: string; held: number; refused: number | null }> {
  const result = { text: "", held: 0, refused: null as number | null };
  const server = createServer((request, response) => {
    const hold = (bytes: number) => {
      result.held += bytes;
    };
    const fail = ({ status }: { readonly status: number }) => {
      result.refused = status;
      response.end();
    };
    readBody(request, BYTES_MAX, hold, fail, (bytes) => {
      result.text = bytes.toString();
      response.end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const headers = { "content-type": "application/json" };
  const { port } = server.address() as AddressInfo;
  const sent = ask({ port, host: "127.0.0.1", method: "POST", headers });
  for (const part of parts) sent.write(part);
  sent.end();
  const [response] = await once(sent, "response");
  response.resume();
  await once(response, "end");
  server.close();
  server.closeAllConnections();
  return result;
}

describe("a request's body", () => {
  const text = Array.from({ length: BYTES_MAX }, (_, i) => String.fromCharCode(97 + (i % 26))).join("");

  test.each([1, 2, 7, 1_000, BYTES_MAX])(
    "is whole if it arrives in chunks of %i bytes, and is held once",
    async (size) => {
      const parts = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        text.slice(i * size, (i + 1) * size),
      );
      expect(await received(parts)).toEqual({ text, held: BYTES_MAX, refused: null });
    },
  );

  test("of one byte more than allowed is refused", async () => {
    expect(await received([text, "x"])).toMatchObject({ text: "", refused: 413 });
  });

  test("may be empty", async () => {
    expect(await received([])).toEqual({ text: "", held: 0, refused: null });
  });
});
