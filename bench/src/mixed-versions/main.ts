/**
 * `npm run mixed-versions`: servers of an earlier version are replaced one by one under load by those of this tree, and back again, on a
 * real Redis and MariaDB. Then what clients were answered is held against what Redis and the servers' own metrics say.
 *
 * Ends with 1 if a request was answered otherwise than 200, an accepted one is missing, or one was denied that should not have been.
 */
import { parseArgs } from "node:util";
import { removeFolder, temporaryFolder } from "../../../test/rig/child-processes.ts";
import { MariadbServer } from "../../../test/rig/mariadb-server.ts";
import { poll } from "../../../test/rig/poll.ts";
import { RedisServer } from "../../../test/rig/redis-server.ts";
import type { RequestLoad } from "../../../test/rig/request-load.ts";
import { SluiceServer } from "../../../test/rig/sluice-server.ts";
import { storedCells } from "../../../test/rig/stored-cells.ts";
import { checkOut, commitOf } from "./checkout.ts";
import type { Ledger } from "./ledger.ts";
import { type Answers, DURATION, mixedLoad, NAMESPACE } from "./load.ts";

/** The server's API was complete, and traces, request logs and listChanges were not there yet. */
const FROM_DEFAULT = "d09696c";
const KEY = "a-root-key-for-two-versions";
const CLIENTS = 8;
const REQUESTS_DEFAULT = 2_000;
const SOON_MS = 60_000;

const { values } = parseArgs({
  options: {
    from: { type: "string", default: FROM_DEFAULT },
    requests: { type: "string", default: String(REQUESTS_DEFAULT) },
  },
});
const commit = commitOf(values.from);
const requests = Number(values.requests);
if (commit === undefined || !Number.isInteger(requests) || requests < 1) {
  const what =
    commit === undefined
      ? `--from must be a commit of this clone; got ${values.from}`
      : `--requests must be an integer from 1; got ${values.requests}`;
  process.stderr.write(
    `error: ${what}\nhint: --from HEAD~10 --requests 2000; a shallow clone gets its history by git fetch --unshallow\n`,
  );
  process.exit(2);
}

interface Version {
  readonly name: string;
  /** Undefined: this tree's. */
  readonly command?: string;
}

// Stopped early, even during the build, it must not leave a worktree behind.
let remove = () => {};
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    remove();
    process.exit(130);
  });
}
const checkout = checkOut(commit);
remove = () => checkout.remove();
const folder = temporaryFolder();
const [mariadb, redis, farRedis] = await Promise.all([MariadbServer.start(), RedisServer.start(), RedisServer.start()]);
const older: Version = { name: commit.slice(0, 7), command: checkout.command };
const newer: Version = { name: "this tree" };
const failures: string[] = [];
const all: SluiceServer[] = [];

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function check(isRight: boolean, what: string): void {
  say(`${isRight ? "ok  " : "FAIL"}  ${what}`);
  if (!isRight) failures.push(what);
}

async function start({ command }: Version, region = "near"): Promise<SluiceServer> {
  const server = SluiceServer.begin(folder, {
    environment: {
      SLUICE_SQL_URL: mariadb.url(),
      SLUICE_REDIS_URL: (region === "near" ? redis : farRedis).url,
      SLUICE_REGION: region,
      SLUICE_ROOT_KEY: KEY,
    },
    ...(command === undefined ? {} : { command }),
  });
  all.push(server);
  await server.greeted();
  await poll("readiness", async () => (await server.ready()).status === 200, SOON_MS);
  return server;
}

/** What the server itself has counted. */
async function counted(server: SluiceServer): Promise<Answers> {
  const metrics = await server.metrics();
  const of = (outcome: keyof Answers) => metrics.sum("sluice_decisions_total", { outcome }) ?? 0;
  return { allowed: of("allowed"), denied: of("denied") };
}

/** One by one: the new one is ready before the old one is told to stop, and clients go on asking both until it refuses them. */
async function replace(load: RequestLoad, from: Version, to: Version): Promise<void> {
  say(`\n${from.name} -> ${to.name}`);
  for (const old of [...load.targets]) {
    await load.more(requests);
    const next = await start(to);
    load.targets = [...load.targets, next];
    await load.more(requests);
    const { code } = await old.stop();
    check(code === 0, `a server of ${from.name} stopped with 0; got ${code}`);
    load.targets = load.targets.filter((one) => one !== old);
  }
  await load.more(requests);
}

/** Everything that is counted for an identifier, by Redis. */
async function stored(): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (const { name, sum } of await storedCells(redis)) {
    const identifier = /(?:tight|wide)_\d+(?:_\d+)?/.exec(name)?.[0];
    if (identifier !== undefined) sums.set(identifier, (sums.get(identifier) ?? 0) + sum);
  }
  return sums;
}

/** A region of the other version learns by SQL what was counted here. */
async function checkFar(ledger: Ledger, version: Version): Promise<void> {
  const [identifier, { limit }] = [...ledger.accounts].findLast(([, { denied }]) => denied > 0)!;
  const far = await start(version, "far");
  const body = { namespace: NAMESPACE, identifier, limit, duration: DURATION, cost: 0 };
  const isDenied = await poll(
    "the far region",
    async () => (await far.post("limit", body)).body.data.remaining === 0,
    SOON_MS,
  ).catch(() => false);
  check(isDenied, `a server of ${version.name} in another region has learnt of a limit that is used up`);
  await far.stop();
}

try {
  const { load, ledger, answers } = mixedLoad(CLIENTS);
  load.targets = [await start(older), await start(older)];
  await replace(load, older, newer);
  await checkFar(ledger, older);
  await replace(load, newer, older);
  await checkFar(ledger, newer);
  await load.stop();

  say("\nin the end");
  const { statuses, refused } = load;
  const unanswered = ledger.total("unanswered");
  for (const server of load.targets) {
    const own = await counted(server);
    const heard = answers.get(server)!;
    check(
      own.allowed === heard.allowed && own.denied === heard.denied,
      `a server's metrics are what its clients heard: ${own.allowed} allowed, ${own.denied} denied`,
    );
    check((await server.stop()).code === 0, "it stopped with 0");
  }
  const others = [...statuses].filter(([status]) => status !== 200);
  check(others.length === 0, `${statuses.get(200)} answers are 200; others: ${JSON.stringify(others)}`);
  check(
    ledger.falseDenials.length === 0,
    `of ${ledger.total("denied")} denials none is false ${ledger.falseDenials.slice(0, 5).join("; ")}`,
  );
  const sums = await stored();
  const wrong = [...ledger.accounts].filter(([identifier, account]) => {
    const sum = sums.get(identifier) ?? 0;
    return sum < account.accepted || sum > account.accepted + account.unanswered;
  });
  check(
    wrong.length === 0,
    `Redis has what was accepted, ${ledger.total("accepted")}, identifier by identifier (${ledger.accounts.size}); wrong: ${wrong.length}`,
  );
  say(
    `\n${unanswered} requests without an answer, ${refused} connections refused; at most ${ledger.excessMax} beyond a limit of 50`,
  );
} finally {
  for (const server of all) await server.stop("SIGKILL");
  await mariadb.stop();
  await redis.stop();
  await farRedis.stop();
  removeFolder(folder);
  checkout.remove();
}
process.exit(failures.length === 0 ? 0 : 1);
