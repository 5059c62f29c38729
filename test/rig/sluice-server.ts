/** The built `sluice` as a process of its own, in an environment that holds nothing but what a test gives it. */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SeriesTable } from "../../packages/server/src/tools/top/series.ts";
import { end, start } from "./child-processes.ts";
import { poll } from "./poll.ts";

const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sluice.mjs", import.meta.url));
/** Under load of the whole suite a start may take seconds. */
const START_WITHIN_MS = 30_000;

/** No request waits longer than its read of the origin (300 ms); the rest is for a machine that has other things to do. */
const ANSWER_WITHIN_MS = 15_000;

const ENDED = Symbol("ended");

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export type Variables = Readonly<Record<string, string>>;

/** A command line that ran to its end. */
export async function sluice(args: readonly string[], environment: Variables = {}, cwd?: string): Promise<Ended> {
  const process = new SluiceProcess(args, environment, cwd);
  await process.ended;
  return process.said();
}

class SluiceProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  #out = "";
  #err = "";

  constructor(args: readonly string[], environment: Variables, cwd?: string, command = COMMAND) {
    const env = { PATH: process.env["PATH"] ?? "", ...environment };
    this.child = start(process.execPath, [command, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.child.stdout?.on("data", (chunk: Buffer) => {
      this.#out += chunk.toString();
    });
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.#err += chunk.toString();
    });
    // Not the exit: what it said last may still be in the pipe.
    this.ended = new Promise((resolve) => this.child.once("close", () => resolve()));
  }

  said(): Ended {
    return { code: this.child.exitCode, out: this.#out, err: this.#err };
  }

  /** The events of its log. */
  log(event?: string): Record<string, unknown>[] {
    const lines = this.#err.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
    const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    return event === undefined ? events : events.filter((one) => one["event"] === event);
  }
}

export interface ServerOptions {
  readonly args?: readonly string[];
  readonly environment?: Variables;
  /** Another program than the one of this tree: one that was installed. */
  readonly command?: string;
}

/** A running `sluice serve`. */
export class SluiceServer extends SluiceProcess {
  url = "";
  opsUrl = "";
  /** What stands in the file that the greeting names, or what was preset. */
  key = "";

  /** Listens on any free port, with its data in that folder; resolves when it has greeted. */
  static async start(folder: string, options: ServerOptions = {}): Promise<SluiceServer> {
    const server = SluiceServer.begin(folder, options);
    await server.greeted();
    return server;
  }

  static begin(folder: string, { args = [], environment = {}, command }: ServerOptions = {}): SluiceServer {
    const words = ["serve", "--port", "0", "--data", join(folder, "data"), ...args];
    const server = new SluiceServer(words, environment, undefined, command);
    server.key = environment["SLUICE_ROOT_KEY"] ?? "";
    return server;
  }

  /** Resolves when it listens. */
  async listening(): Promise<void> {
    const [event] = await this.#heard(() => {
      const events = this.log("listening");
      return events.length > 0 && this.said().out.includes("\n") ? events : undefined;
    });
    this.url = /Sluice listens on (\S+)/.exec(this.said().out)![1]!;
    this.opsUrl = String(event!["ops"]);
  }

  async greeted(): Promise<void> {
    await this.listening();
    await this.#heard(() => this.said().out.includes("curl ") || undefined);
    const path = /^Root key written to (.+) \(readable/m.exec(this.said().out)?.[1];
    // An older release has printed it.
    this.key ||=
      (path && readFileSync(path, "utf8").trim()) ??
      /Root key \(shown only once\): (\S+)/.exec(this.said().out)?.[1] ??
      "";
  }

  /** Rejects at once if it ends instead. */
  async #heard<T>(ask: () => T | undefined): Promise<T> {
    const hasEnded = () => this.child.exitCode !== null || this.child.signalCode !== null;
    const heard = await poll(
      "a word of sluice serve",
      () => ask() ?? (hasEnded() ? ENDED : undefined),
      START_WITHIN_MS,
    );
    if (heard === ENDED) throw new Error(`sluice serve has ended: ${JSON.stringify(this.said())}`);
    return heard as T;
  }

  async post(operation: string, body: object, key = this.key): Promise<Answer> {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const url = `${this.url}/v2/ratelimit.${operation}`;
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  }

  async ready(): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.opsUrl}/ready`);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  async metrics(): Promise<SeriesTable> {
    return new SeriesTable(await (await fetch(`${this.opsUrl}/metrics`)).text());
  }

  /** Sends the signal, and waits for the end. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<Ended & { readonly tookMs: number }> {
    const beganMs = performance.now();
    await end(this.child, signal);
    await this.ended;
    return { ...this.said(), tookMs: performance.now() - beganMs };
  }
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server sends; the assertions say what it should be.
  readonly body: any;
}
