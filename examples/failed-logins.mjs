/**
 * A login that locks a user for a while after 3 failures in 15 minutes: `npm run build && node examples/failed-logins.mjs`.
 *
 * Only failures count, and they are known after the password was checked: a peek before the work says whether the user may try at
 * all, and a failure is charged. It binds to loopback only. PORT picks the port (default 8080); 0 picks a free one.
 */
import { createServer } from "node:http";
import { Limiter } from "sluice";

const HOST = "127.0.0.1";
const PASSWORDS = new Map([["ada", "correct horse"]]);

const limiter = new Limiter();
const failures = limiter.rule({ namespace: "failed-logins", limit: 3, duration: "15m" });

/**
 * @param {string} user
 * @param {string} password
 * @returns {Promise<{ status: number, text: string, retryAfterS?: number }>}
 */
async function login(user, password) {
  // A peek counts nothing. At exactly the limit it still succeeds, so `remaining` is what says whether there is a try left.
  const { remaining, reset } = await failures.limit(user, { cost: 0 });
  if (remaining === 0) {
    const retryAfterS = Math.max(1, Math.ceil((reset - Date.now()) / 1000));
    return { status: 429, text: "too many failed logins", retryAfterS };
  }
  if (PASSWORDS.get(user) === password) return { status: 200, text: "welcome" };
  const { remaining: triesLeft } = failures.charge(user);
  return { status: 401, text: `wrong password, ${triesLeft} tries left` };
}

export const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? "/", `http://${HOST}`);
  login(searchParams.get("user") || "nobody", searchParams.get("password") ?? "").then(
    ({ status, text, retryAfterS }) => {
      response.statusCode = status;
      if (retryAfterS !== undefined) response.setHeader("Retry-After", retryAfterS);
      response.end(`${text}\n`);
    },
    (error) => {
      // Such as a user name of more than 512 characters.
      response.statusCode = 400;
      response.end(`${error.message}\n`);
    },
  );
});

server.on("listening", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has an address and a port");
  const url = `http://${HOST}:${address.port}/?user=ada&password=`;
  console.log(`Try wrong passwords, and see 401 three times, then 429:\n\n  curl -i '${url}wrong'\n`);
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    server.close(() => void limiter.close());
  });
}

server.listen(Number(process.env["PORT"] ?? 8080), HOST);
