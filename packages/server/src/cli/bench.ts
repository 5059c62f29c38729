/** `sluice bench`: load against a running server by a schedule, and what came of it. */
import type { Command } from "commander";
import type { ApiClient } from "../client/api-client.ts";
import { Failure } from "../input/failure.ts";
import { InputError } from "../input/input-error.ts";
import { integerWithin, numberWithin, wholeSpanWithin } from "../input/readings.ts";
import { SYSTEM } from "../system/system.ts";
import type { Console } from "../terminal/console.ts";
import { span, whole } from "../text/figures.ts";
import { LoadTally } from "../tools/load/load-result.ts";
import { loadText } from "../tools/load/load-text.ts";
import { OpenLoop } from "../tools/load/open-loop.ts";
import { clientCommand } from "./client-command.ts";
import type { CommandInput, CommandOutcome, Flag } from "./command-flags.ts";
import { EXIT } from "./exit-codes.ts";
import { ASKED_LIMIT, COST, DURATION } from "./rule-flags.ts";

const RATE_MAX = 100_000;
const CONNECTIONS_MAX = 4_096;
const IDENTIFIERS_MAX = 10_000_000;
const NAME_LENGTH_MAX = 512;
const DAY_MS = 86_400_000;
const TELL_EVERY_MS = { terminal: 200, lines: 1_000 } as const;

const FLAGS: readonly Flag[] = [
  {
    name: "rate",
    value: "<n>",
    help: "requests per second",
    rule: `a number from 0.1 to ${RATE_MAX}`,
    read: numberWithin(0.1, RATE_MAX),
    initialText: "1000",
  },
  {
    name: "duration",
    value: "<time>",
    help: "duration of the load: milliseconds, or a number with a unit: 10s, 5m",
    rule: "from 1s to 1d",
    read: wholeSpanWithin(1_000, DAY_MS),
    initialText: "10s",
  },
  {
    name: "connections",
    value: "<n>",
    help: "connections, each with at most one request in flight",
    rule: `an integer from 1 to ${CONNECTIONS_MAX}`,
    read: integerWithin(1, CONNECTIONS_MAX),
    initialText: "64",
  },
  {
    name: "timeout",
    value: "<time>",
    help: "timeout of a request",
    rule: "from 100ms to 5m",
    read: wholeSpanWithin(100, 300_000),
    initialText: "10s",
  },
  {
    name: "namespace",
    value: "<name>",
    help: "the namespace to use; created if it does not exist",
    rule: `1 to ${NAME_LENGTH_MAX} characters`,
    read: (value) => (typeof value === "string" && value !== "" && value.length <= NAME_LENGTH_MAX ? value : undefined),
    initialText: "bench",
  },
  {
    name: "identifiers",
    value: "<n>",
    help: "the number of identifiers, used in turn: bench_0, bench_1 and so on",
    rule: `an integer from 1 to ${IDENTIFIERS_MAX}`,
    read: integerWithin(1, IDENTIFIERS_MAX),
    initialText: "1000",
  },
  { ...ASKED_LIMIT, initialText: "1000000" },
  { ...DURATION, name: "window", initialText: "1m" },
  { ...COST, initialText: "1" },
];

interface Load {
  readonly rate: number;
  readonly duration: number;
  readonly connections: number;
  readonly timeout: number;
  readonly namespace: string;
  readonly identifiers: number;
  readonly limit: number;
  readonly window: number;
  readonly cost: number;
}

export function benchCommand(console: Console, exit: (code: number) => void): Command {
  return clientCommand(console, {
    name: "bench",
    description:
      "Put load on a running server at a constant rate (open loop): requests do not wait for earlier answers, and their latency is " +
      "measured from when they were due. Ctrl-C stops it and reports what was measured.",
    args: [],
    flags: FLAGS,
    run: (client, given) => bench(client, given, console, exit),
  });
}

async function bench(
  client: ApiClient,
  { flags }: CommandInput,
  console: Console,
  exit: (code: number) => void,
): Promise<CommandOutcome> {
  const load = flags as unknown as Load;
  const { namespace, limit, window, cost } = load;
  if (Math.round((load.rate * load.duration) / 1_000) === 0) {
    const given = `--rate ${load.rate} for --duration ${span(load.duration)}`;
    throw new InputError(`${given} sends no request`, "use a longer --duration or a higher --rate");
  }
  const bodyOf = (index: number, price = cost) =>
    JSON.stringify({
      namespace,
      identifier: `bench_${index % load.identifiers}`,
      limit,
      duration: window,
      cost: price,
    });
  // A peek: says before the load what is wrong with the address, the key or the rule, and counts nothing.
  await client.ask("limit", JSON.parse(bodyOf(0, 0)) as object);

  const tally = new LoadTally();
  const loop = new OpenLoop(
    {
      url: new URL(client.url),
      key: client.key,
      rate: load.rate,
      durationMs: load.duration,
      connections: load.connections,
      timeoutMs: load.timeout,
      openingBody: bodyOf(0, 0),
      bodyOf,
      sink: tally,
    },
    SYSTEM,
  );
  let stoppedWith: number | undefined;
  console.onStop((code) => {
    stoppedWith = code;
    loop.stop();
  });
  await opened(loop, client.url, load.connections);
  const ticking = reportProgress(console, tally, load);
  try {
    const result = tally.result(await loop.run());
    if (stoppedWith !== undefined) exit(stoppedWith);
    else if (result.answered === 0) exit(EXIT.failed);
    const json = { url: client.url, load, isStopped: stoppedWith !== undefined, ...result };
    return { json, text: `${headOf(client.url, load)}\n${loadText(result)}` };
  } finally {
    ticking.stop();
  }
}

async function opened(loop: OpenLoop, url: string, connections: number): Promise<void> {
  try {
    await loop.open();
  } catch (error) {
    loop.close();
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Failure(
      `${url} does not accept ${connections} connections (${code ?? message})`,
      "use fewer --connections, or raise the limits of the server (http.connectionsMax) and of this shell (ulimit -n)",
    );
  }
}

function headOf(url: string, { rate, duration, connections, identifiers, limit, window, cost }: Load): string {
  return (
    `${url}: ${whole(rate)} requests per second for ${span(duration)} on ${whole(connections)} connections; ` +
    `${whole(identifiers)} identifiers, limit ${whole(limit)} in ${span(window)}, cost ${whole(cost)}\n`
  );
}

function reportProgress(console: Console, tally: LoadTally, { duration }: Load): { readonly stop: () => void } {
  const beganMs = console.nowMs();
  const elapsed = () => Math.min(duration, console.nowMs() - beganMs);
  const line = () => {
    const elapsedMs = elapsed();
    const errors = tally.errors > 0 ? `, ${whole(tally.errors)} errors` : "";
    const of = `${(elapsedMs / 1_000).toFixed(0)} s of ${(duration / 1_000).toFixed(0)} s`;
    return `load: ${of}, ${whole(tally.answers)} answered${errors}, p99 ${tally.corrected.p99.toFixed(1)} ms`;
  };
  const everyMs = console.isTerminal ? TELL_EVERY_MS.terminal : TELL_EVERY_MS.lines;
  const ticking = setInterval(() => {
    // The line of the end is told once, when all answers are in.
    if (console.isTerminal || elapsed() + everyMs / 2 < duration) console.progress(line(), false);
  }, everyMs);
  return {
    stop: () => {
      clearInterval(ticking);
      console.progress(line(), true);
    },
  };
}
