/**
 * Requests that are wrong in every way: none crashes the server, hangs, is counted or gets a 5xx, and memory stays flat.
 *
 * Drawn from a seed, which a failure prints. The lab sends 200,000; the tests fewer.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, ROOT, startApi } from "../rig/api-server.ts";
import { byLength, figure } from "../rig/length.ts";
import { type RawAnswer, RawConnection } from "../rig/raw-http.ts";
import { SeededRandom } from "../support/seeded-random.ts";

const REQUESTS = byLength({
  short: 5_000,
  ci: 50_000,
  lab: Number(process.env["SLUICE_LAB_REQUESTS"] ?? 200_000),
});
const CONNECTIONS = 32;
const SEED = Number(process.env["SLUICE_SEED"] ?? 20_261_116);
const GOOD = { namespace: "malformed", identifier: "user", limit: 1000, duration: 60_000 };

let server: ApiServer;
beforeAll(async () => {
  server = await startApi({ requestTimeoutMs: 2000, bodyMaxBytes: 64 * 1024 });
  await server.post("createNamespace", { name: "malformed" });
});
afterAll(() => server.close());

type Draw = (below: number) => number;
const pick = <T>(draw: Draw, from: readonly T[]): T => from[draw(from.length)]!;

function request(
  body: string | Buffer,
  headers: readonly string[] = [],
  line = "POST /v2/ratelimit.limit HTTP/1.1",
): Buffer {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const own = (name: string) => headers.some((header) => header.toLowerCase().startsWith(`${name}:`));
  const all = [
    line,
    ...headers,
    ...(own("host") ? [] : ["host: 127.0.0.1"]),
    ...(own("authorization") ? [] : [`authorization: Bearer ${ROOT}`]),
    ...(own("content-type") ? [] : ["content-type: application/json"]),
    ...(own("content-length") || own("transfer-encoding") ? [] : [`content-length: ${bytes.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${all.join("\r\n")}\r\n\r\n`, "latin1"), bytes]);
}

const VALUES = [
  "null",
  "true",
  "-1",
  "0.5",
  "1e400",
  "1e-400",
  "9007199254740993",
  "1.00000000000000000001",
  "-0.0000001",
  '""',
  '"\\ud800"',
  '"\\u0000"',
  "[]",
  "{}",
  "[[[[[[[[[[]]]]]]]]]]",
  '{"__proto__":{"limit":1}}',
  '{"constructor":{"prototype":{}}}',
  "1099511627777",
  `"${"x".repeat(513)}"`,
  `"${"😀".repeat(600)}"`,
  "undefined",
  "NaN",
  "'x'",
  "0x10",
  "01",
  '"\u0007"',
];
const FIELDS = ["namespace", "identifier", "limit", "duration", "cost"];
const OPERATIONS = [
  "limit",
  "multiLimit",
  "setOverride",
  "getOverride",
  "listOverrides",
  "deleteOverride",
  "inspect",
  "nothing",
];

/** Each is wrong by itself, whatever is drawn. */
const MISTAKES: readonly ((draw: Draw) => { bytes: Buffer; end?: boolean })[] = [
  // One field has another value: as text, so that what JSON cannot say can be sent. Cost may be a legal 0 or 1: none of these is.
  (draw) => {
    const field = pick(draw, FIELDS);
    const members = Object.entries(GOOD)
      .filter(([name]) => name !== field)
      .map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
    let value = pick(draw, VALUES);
    // A text is what these two want.
    if (field === "namespace" || field === "identifier")
      value = value.replace('"\\u0000"', "7").replace('"\u0007"', "7");
    return { bytes: request(`{${[...members, `"${field}":${value}`].join(",")}}`) };
  },
  // A field that nobody knows, or one too many.
  (draw) => ({
    bytes: request(JSON.stringify({ ...GOOD, [pick(draw, ["costs", "__proto__x", "toString", "$where", "a.b"])]: 1 })),
  }),
  (draw) => ({ bytes: request(JSON.stringify(GOOD).replace("}", `,"${pick(draw, ["limit", "identifier"])}":1}`)) }),
  // One is missing.
  (draw) => {
    const { [pick(draw, ["namespace", "identifier", "limit", "duration"] as const)]: _missing, ...rest } = GOOD;
    return { bytes: request(JSON.stringify(rest)) };
  },
  // The text ends early, or has a byte too many or another one.
  (draw) => ({ bytes: request(JSON.stringify(GOOD).slice(0, draw(60))) }),
  (draw) => ({ bytes: request(`${JSON.stringify(GOOD)}${pick(draw, ["}", ",", "x", "{}", "\u0000"])}`) }),
  () => ({
    bytes: request(Buffer.concat([Buffer.from('{"namespace":"'), Buffer.from([0xff, 0xfe, 0xc0]), Buffer.from('"}')])),
  }),
  // Bytes of any kind.
  (draw) => ({ bytes: request(Buffer.from(Array.from({ length: draw(200) + 1 }, () => 128 + draw(128)))) }),
  // Batches.
  (draw) => ({
    bytes: request(
      JSON.stringify(Array.from({ length: pick(draw, [0, 101, 400]) }, () => ({ ...GOOD, x: 1 }))),
      [],
      "POST /v2/ratelimit.multiLimit HTTP/1.1",
    ),
  }),
  // Much that is wrong, in a body as large as it may be.
  () => ({ bytes: request(`[${"{},".repeat(20_000)}{}]`, [], "POST /v2/ratelimit.multiLimit HTTP/1.1") }),
  () => ({ bytes: request(`{"${"x".repeat(60_000)}":1}`) }),
  // Another type, encoding, key, host, method or route.
  (draw) => ({
    bytes: request(JSON.stringify(GOOD), [
      `content-type: ${pick(draw, ["text/plain", "application/xml", "application/json; charset=latin1", "application/jsonp", "multipart/form-data"])}`,
    ]),
  }),
  (draw) => ({ bytes: request(JSON.stringify(GOOD), [`content-encoding: ${pick(draw, ["gzip", "br", "x"])}`]) }),
  (draw) => ({
    bytes: request(JSON.stringify(GOOD), [
      `authorization: ${pick(draw, ["", "Bearer", "Bearer ", "Basic x", "Bearer nobody", `Bearer ${ROOT}x`, "Bearer \u00ff"])}`,
    ]),
  }),
  (draw) => ({
    bytes: request(JSON.stringify(GOOD), [
      `host: ${pick(draw, ["evil.example", "127.0.0.1.evil.example", "", "[::2]:80"])}`,
    ]),
  }),
  (draw) => ({
    bytes: request(
      "",
      [],
      `${pick(draw, ["GET", "PUT", "DELETE", "OPTIONS", "TRACE"])} /v2/ratelimit.${pick(draw, OPERATIONS)} HTTP/1.1`,
    ),
  }),
  (draw) => ({
    bytes: request(
      "{}",
      [],
      `POST ${pick(draw, ["/", "/v1/ratelimit.limit", "/v2/ratelimit.limit/", "/v2/%00", "/v2/%zz", "/../../etc/passwd", "/v2/ratelimit.nothing"])} HTTP/1.1`,
    ),
  }),
  // Larger than a body, or than headers may be.
  () => ({ bytes: request(`{"namespace":"${"x".repeat(70_000)}"}`) }),
  () => ({ bytes: request("{}", [`x-long: ${"x".repeat(20_000)}`]) }),
  // What is no HTTP.
  (draw) => ({
    bytes: Buffer.from(
      pick(draw, [
        "\r\n\r\n\r\nGET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "POST /v2/ratelimit.limit HTTP/1.1\r\n\r\n",
        "\u0016\u0003\u0001\u0002\u0000",
        "HELO sluice\r\n\r\n",
        "POST /v2/ratelimit.limit HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: x\r\n\r\n",
        "POST /v2/ratelimit.limit HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "POST /v2/ratelimit.limit HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        "POST /v2/ratelimit.limit HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /v2/ratelimit.limit HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "POST /v2/ratelimit.limit HTTP/1.1\r\nhost : 127.0.0.1\r\n\r\n",
      ]),
      "latin1",
    ),
    end: true,
  }),
  // Cut off in the middle of a body.
  (draw) => ({ bytes: request(JSON.stringify(GOOD)).subarray(0, -1 - draw(30)), end: true }),
];

describe("malformed requests", () => {
  test(
    `${REQUESTS} of them: an error each, nothing counted, memory flat (seed ${SEED})`,
    async () => {
      const beganMs = performance.now();
      const random = new SeededRandom(SEED);
      const draw: Draw = (below) => random.below(below);
      const statuses = new Map<string, number>();
      const wrong: string[] = [];
      let left = REQUESTS;
      const send = async () => {
        const connection = new RawConnection(server.port);
        for (; left > 0; ) {
          left--;
          const at = draw(MISTAKES.length);
          const { bytes, end } = MISTAKES[at]!(draw);
          const answer: RawAnswer = await connection.send(bytes, { end: end === true });
          statuses.set(String(answer.status), (statuses.get(String(answer.status)) ?? 0) + 1);
          const isRefused = answer.status === null ? end === true : answer.status >= 400 && answer.status < 500;
          if (!isRefused && wrong.length < 5)
            wrong.push(`${at}: ${answer.status} ${bytes.toString("latin1").slice(-200)} ${answer.body}`);
        }
        connection.close();
      };
      const sendAll = () => Promise.all(Array.from({ length: CONNECTIONS }, send));
      // What the first of them load and compile is not a leak.
      left = Math.floor(REQUESTS / 4);
      await sendAll();
      globalThis.gc?.();
      const before = process.memoryUsage();
      left = REQUESTS - Math.floor(REQUESTS / 4);
      await sendAll();
      globalThis.gc?.();
      const after = process.memoryUsage();

      expect(wrong).toEqual([]);
      expect(server.limiter.stats().decisions.allowed).toBe(0);
      // The brake on guessed keys writes a line per 10 s.
      expect(server.logged.filter((line) => !line.startsWith("authentication.failing "))).toEqual([]);
      expect(server.logged.length).toBeLessThanOrEqual(1 + (performance.now() - beganMs) / 10_000);
      // Sixteen bytes a request would show: 3/4 of the requests, each with a body of some hundred bytes, keep nothing.
      expect(after.heapUsed - before.heapUsed).toBeLessThan(4 * 1024 * 1024 + 16 * REQUESTS);
      const kib = Math.round((after.heapUsed - before.heapUsed) / 1024);
      figure(`${REQUESTS} malformed requests from seed ${SEED}, none counted, heap grew by ${kib} KiB`);
      const good = await server.post("limit", GOOD);
      expect(good.body.data).toMatchObject({ success: true, remaining: 999 });
      // Every kind of refusal was met.
      for (const status of [400, 401, 404, 405, 413, 415, 421, 431])
        expect(statuses.get(String(status))).toBeGreaterThan(0);
    },
    Math.max(600_000, 3 * REQUESTS),
  );

  test("a body that comes slower than the time-out is refused with 408", async () => {
    const connection = new RawConnection(server.port);
    const whole = request(JSON.stringify(GOOD));
    const answer = await connection.send(whole.subarray(0, -5));
    connection.close();
    expect(answer.status).toBe(408);
  });
});
