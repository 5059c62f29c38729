/** The floor: a bare node:http server that parses the same JSON and answers the same. It limits nothing and asks for no key. */
import { createServer } from "node:http";

let count = 0;
const server = createServer((request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { limit } = JSON.parse(Buffer.concat(chunks).toString());
    count++;
    const meta = { requestId: `req_0123456789abcdef${count.toString(36).padStart(8, "0")}` };
    const data = { success: true, limit, remaining: limit - 1, reset: Date.now() };
    const body = JSON.stringify({ meta, data });
    response.writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") console.log(`listens on http://127.0.0.1:${address.port}`);
});
