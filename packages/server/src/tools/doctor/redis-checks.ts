/**
 * What a server needs of Redis: it answers, is new enough, lets this user do what the origin does, and does it soon; what it does when
 * it is full; its clock.
 *
 * The rights are tried by the origin itself, on a cell of its own that expires at once.
 */
import { createClient } from "@redis/client";
import { redisOrigin } from "sluice/redis";
import type { ServerSettings } from "../../config/settings.ts";
import { type Finding, fail, medianMs, milliseconds, ok, skewFinding, warn } from "./finding.ts";

/** One that accepts and stays silent is as good as away. */
const ANSWER_WITHIN_MS = 3_000;
const TIMES = 5;
/** A cold read waits for a round trip; half of them are slower than the median. */
const SLOW_MS = 10;
const VERSION_MIN = 6;
const CELL_LIVES_MS = 1_000;
const RIGHTS =
  "grant the user the rights that docs/operating.md lists: +eval +evalsha +hmget +hset +hlen +pexpireat +ping on ~sluice:*";

type Ask = (...args: string[]) => Promise<unknown>;

export interface DoctorClock {
  readonly wallMs: () => number;
  readonly monoMs: () => number;
}

type Place = Pick<ServerSettings, "redisUrl" | "redisTls" | "convergence">;

export async function redisFindings(place: Place, clock: DoctorClock): Promise<Finding[]> {
  const { redisUrl, redisTls } = place;
  const { readTimeoutMs } = place.convergence;
  if (redisUrl === null) return [ok("redis", "not set: this server limits alone")];
  const client = createClient({
    url: redisUrl,
    RESP: 3,
    disableClientInfo: true,
    disableOfflineQueue: true,
    maintNotifications: "disabled",
    commandOptions: { timeout: ANSWER_WITHIN_MS },
    socket: {
      connectTimeout: ANSWER_WITHIN_MS,
      reconnectStrategy: false,
      ...(redisTls === null ? {} : { tls: true, ...redisTls }),
    } as NonNullable<Parameters<typeof createClient>[0]>["socket"] & object,
  });
  // What it complains of by itself is told by the call that fails.
  client.on("error", () => {});
  const silence = new Error(`no answer within ${ANSWER_WITHIN_MS / 1000} s`);
  let isSilent = false;
  const within = <T>(answer: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        isSilent = true;
        client.destroy();
        reject(silence);
      }, ANSWER_WITHIN_MS);
      answer.then(resolve, reject).finally(() => clearTimeout(late));
    });
  try {
    await within(client.connect());
  } catch (error) {
    return [awayFinding(isSilent ? silence : error, redisUrl)];
  }
  const ask: Ask = (...args) => within(client.sendCommand(args));
  const checks: readonly (() => Promise<Finding | readonly Finding[]>)[] = [
    () => versionFinding(ask),
    () => pingFindings(ask, clock, readTimeoutMs),
    () => scriptFinding(place, ask, clock),
    () => memoryFinding(ask),
    () => clockFinding(ask, clock),
  ];
  const findings: Finding[] = [];
  try {
    for (const check of checks) {
      const found = await check();
      // What the check made of it is not what is wrong.
      if (isSilent) return [...findings, awayFinding(silence, redisUrl)];
      findings.push(...[found].flat());
    }
    return findings;
  } finally {
    client.destroy();
  }
}

function awayFinding(error: unknown, url: string): Finding {
  const { host } = new URL(url);
  const { message, code = "", errors = [] } = error as Error & { code?: string; errors?: readonly Error[] };
  const why = message || errors[0]?.message || code;
  // Every one since 6.0 knows it, and it is the first word of the connection.
  if (/unknown command.*HELLO/i.test(why)) {
    return fail("redis version", `${host} does not know HELLO: it is too old`, "use 6.0 or later");
  }
  const isRefusal = /WRONGPASS|NOAUTH|without any password|NOPERM/.test(why);
  const advice = isRefusal
    ? "correct user and password of redis.url"
    : "start it, or correct redis.url; until then decisions come from memory alone, and are degraded";
  return fail("redis", `${host} ${isRefusal ? "refuses" : "does not answer"}: ${why}`, advice);
}

async function versionFinding(ask: Ask): Promise<Finding> {
  // Needs no right: every user may greet.
  const answer = await ask("HELLO", "3").catch(() => ({}));
  const { server = "redis", version = "" } = answer as { server?: string; version?: string };
  const major = Number(version.split(".")[0]);
  if (!Number.isInteger(major) || version === "") return warn("redis version", "unknown", "6.0 or later is needed");
  return major >= VERSION_MIN
    ? ok("redis version", `${server} ${version}`)
    : fail("redis version", `${server} ${version} is too old`, "use 6.0 or later");
}

async function pingFindings(ask: Ask, { monoMs }: DoctorClock, readTimeoutMs: number): Promise<Finding[]> {
  try {
    await ask("PING");
    return [speedFinding("redis round trip", await medianMs(TIMES, monoMs, () => ask("PING")), readTimeoutMs)];
  } catch (error) {
    return [fail("redis rights", `PING: ${(error as Error).message}`, RIGHTS)];
  }
}

/** @param readTimeoutMs slower than this, every read fails; slower than half of it, many do. */
export function speedFinding(subject: string, ms: number, readTimeoutMs: number): Finding {
  const text = `${milliseconds(ms)}, median of ${TIMES}`;
  const timesOut = `reads time out at ${readTimeoutMs} ms (readTimeoutMs): use a nearer or faster Redis`;
  if (ms >= readTimeoutMs) return fail(subject, text, timesOut);
  if (ms >= readTimeoutMs / 2) return warn(subject, text, `${timesOut}, or raise it up to 300ms`);
  return ms >= SLOW_MS
    ? warn(subject, text, "the first request of a key waits that long: use a Redis in the same region")
    : ok(subject, text);
}

async function scriptFinding(
  { redisUrl, redisTls, convergence }: Place,
  ask: Ask,
  clock: DoctorClock,
): Promise<Finding> {
  const { wallMs, monoMs } = clock;
  const origin = redisOrigin({ url: redisUrl!, ...(redisTls === null ? {} : { tls: redisTls }) });
  const cell = { key: "doctor", sequence: 0, writer: "doctor" };
  const round = async () => {
    await origin.raise([{ ...cell, total: 1, expiresAtMs: wallMs() + CELL_LIVES_MS }]);
    await origin.read([cell]);
  };
  try {
    // The first one sends the scripts whole.
    await round();
    const took = (await medianMs(TIMES, monoMs, round)) / 2;
    const finding = speedFinding("redis scripts", took, convergence.readTimeoutMs);
    return finding.status === "ok" ? ok("redis scripts", `this user may run them; ${finding.text}`) : finding;
  } catch (error) {
    const { kind = "", message } = error as Error & { readonly kind?: string };
    if (kind === "permission") return fail("redis scripts", `${message}${await lackingOf(ask)}`, RIGHTS);
    return fail("redis scripts", `${message} (${kind})`, "docs/operating.md explains each kind of failure");
  } finally {
    await origin.close();
  }
}

/** What a script would be refused, where Redis can be asked (7.0) and lets this user run one at all. */
const LACKING = `local lacking = {}
for _, name in ipairs(ARGV) do
  if not redis.acl_check_cmd(name, KEYS[1], 'x', 'y') then lacking[#lacking + 1] = name end
end
return lacking`;

async function lackingOf(ask: Ask): Promise<string> {
  const lacking = await ask("EVAL", LACKING, "1", "sluice:1:{doctor}:0", "HMGET", "HSET", "PEXPIREAT").catch(() => []);
  return Array.isArray(lacking) && lacking.length > 0 ? `: missing rights: ${lacking.join(", ")}` : "";
}

async function memoryFinding(ask: Ask): Promise<Finding> {
  const info = await ask("INFO", "memory").catch(() => null);
  if (info === null) {
    const advice = "run doctor once as a user with the right to run INFO; the server does not need it";
    return warn("redis memory", "this user cannot read the eviction policy", advice);
  }
  const field = (name: string) => new RegExp(`^${name}:(\\S+)`, "m").exec(String(info))?.[1] ?? "";
  const [policy, max] = [field("maxmemory_policy"), Number(field("maxmemory"))];
  if (max === 0) return ok("redis memory", `no maxmemory (policy ${policy})`);
  const text = `maxmemory ${Math.round(max / 1_048_576)} MiB, policy ${policy}`;
  if (policy !== "noeviction") return ok("redis memory", text);
  const advice = "set maxmemory-policy volatile-ttl: every cell has an expiry, and servers replay evicted cells";
  return warn("redis memory", `${text}: when it is full, it refuses writes`, advice);
}

async function clockFinding(ask: Ask, { wallMs, monoMs }: DoctorClock): Promise<Finding> {
  const beganMs = monoMs();
  const answer = await ask("TIME").catch(() => null);
  const tookMs = monoMs() - beganMs;
  if (!Array.isArray(answer)) {
    const advice = "run doctor once as a user with the right to run TIME; the server does not need it";
    return warn("redis clock", "this user cannot read it", advice);
  }
  const theirsMs = Number(answer[0]) * 1000 + Number(answer[1]) / 1000;
  return skewFinding("redis clock", theirsMs - (wallMs() - tookMs / 2), tookMs);
}
