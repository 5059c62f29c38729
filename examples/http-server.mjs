/**
 * An HTTP server that limits each client to 5 requests per 10 s: `npm run build && node examples/http-server.mjs`.
 *
 * It binds to loopback only. PORT picks the port (default 8080); if that is taken, the system picks a free one.
 */
import { createServer } from "node:http";
import { Limiter } from "sluice";

const LIMIT = 5;
const DURATION_S = 10;
const HOST = "127.0.0.1";

const limiter = new Limiter();
const perClient = limiter.rule({ namespace: "http", limit: LIMIT, duration: `${DURATION_S}s` });

/**
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:http").ServerResponse} response
 */
async function answer(request, response) {
  // Behind a proxy this is the proxy's address, and all clients would share one key: take what the proxy tells instead.
  const client = request.socket.remoteAddress ?? "unknown";
  const decision = await perClient.limit(client);
  const waitS = Math.max(1, Math.ceil((decision.reset - Date.now()) / 1000));

  // The fields of draft-ietf-httpapi-ratelimit-headers: quota and window, then what remains and for how many seconds.
  response.setHeader("RateLimit-Policy", `"client";q=${LIMIT};w=${DURATION_S}`);
  response.setHeader("RateLimit", `"client";r=${decision.remaining};t=${waitS}`);
  response.setHeader("Content-Type", "application/json");
  if (!decision.success) {
    response.statusCode = 429;
    response.setHeader("Retry-After", waitS);
  }
  response.end(`${JSON.stringify(decision)}\n`);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});

server.on("error", (error) => {
  if (!("code" in error) || error.code !== "EADDRINUSE") throw error;
  server.listen(0, HOST);
});

server.on("listening", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has an address and a port");
  const url = `http://${HOST}:${address.port}/`;
  console.log(`Listening on ${url}: ${LIMIT} requests per ${DURATION_S} s for each client. Ctrl-C ends it.`);
  console.log("Try it from another terminal, and see 200 five times, then 429:\n");
  console.log(`  for i in 1 2 3 4 5 6 7; do curl -s -o /dev/null -w '%{http_code}\\n' ${url}; done\n`);
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    // Answers what is under way first: the limiter is closed after whatever asks it.
    server.close(() => {
      void limiter.close().then(() => console.log("Closed."));
    });
  });
}

server.listen(Number(process.env["PORT"] ?? 8080), HOST);
