/**
 * A real Redis of a test's own: on a private port, in a temporary folder, gone at the end.
 *
 * It can be killed and started again on the same port, frozen and thawed (SIGSTOP, SIGCONT).
 */
import type { ChildProcess } from "node:child_process";
import { end, removeFolder, start, temporaryFolder } from "./child-processes.ts";
import { freePort } from "./free-port.ts";
import { poll } from "./poll.ts";
import { freeze, thaw } from "./process-signals.ts";
import { redisBinary } from "./redis-binary.ts";
import { askOnce, RespClient } from "./resp-client.ts";

export interface RedisServerOptions {
  /** Lines of the configuration: a directive and its words each. */
  readonly config?: readonly (readonly (string | number)[])[];
  readonly isClusterNode?: boolean;
  /** Further words on the command line, such as `--sentinel`. */
  readonly flags?: readonly string[];
}

const BASE = [
  ["bind", "127.0.0.1"],
  ["protected-mode", "no"],
  ["save", '""'],
  ["appendonly", "no"],
  ["daemonize", "no"],
] as const;

export class RedisServer {
  readonly port: number;
  readonly folder: string;
  readonly #options: RedisServerOptions;
  #child: ChildProcess | undefined;
  #client: RespClient | undefined;
  #output = "";

  private constructor(port: number, options: RedisServerOptions) {
    this.port = port;
    this.folder = temporaryFolder();
    this.#options = options;
  }

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const hasBus = options.isClusterNode === true;
    const server = new RedisServer(await freePort({ hasBus }), options);
    await server.begin();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Starts it, again if need be, and waits until it answers. */
  async begin(): Promise<void> {
    const { config = [], isClusterNode = false, flags = [] } = this.#options;
    const cluster = isClusterNode ? [["cluster-enabled", "yes"]] : [];
    const isSentinel = flags.includes("--sentinel");
    const lines = [
      ...(isSentinel ? BASE.slice(0, 2) : BASE),
      ["port", this.port],
      ["dir", this.folder],
      ...cluster,
      ...config,
    ];
    const directives = lines.flatMap(([name, ...words]) => [`--${name}`, ...words.map(String)]);
    // A sentinel rewrites its configuration, so that has to be a file.
    const args = isSentinel ? await this.#sentinelArgs(lines, flags) : [...directives, ...flags];
    const child = start(redisBinary(), args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => this.#heard(chunk));
    await poll(`redis-server on port ${this.port}`, async () => {
      if (child.exitCode !== null) throw new Error(`redis-server ended: ${this.#output}`);
      // Whatever it answers: one that wants a password or loads its data is up.
      return askOnce(this.port, "PING").then(
        () => true,
        (error: Error) => error.name === "RespError",
      );
    });
  }

  /** One command, on a connection of the rig's own. */
  ask(...args: (string | number)[]): ReturnType<RespClient["ask"]> {
    return this.client.ask(...args);
  }

  get client(): RespClient {
    // A server that is promoted closes the connections it has.
    if (this.#client === undefined || this.#client.isClosed) this.#client = new RespClient(this.port);
    return this.#client;
  }

  /** SIGKILL: nothing is saved. */
  async kill(): Promise<void> {
    this.#client?.close();
    this.#client = undefined;
    if (this.#child !== undefined) await end(this.#child, "SIGKILL");
  }

  /** Resolves when it answers nothing any more. */
  freeze(): Promise<void> {
    return freeze(this.pid);
  }

  thaw(): Promise<void> {
    return thaw(this.pid);
  }

  async stop(): Promise<void> {
    await this.kill();
    removeFolder(this.folder);
  }

  async #sentinelArgs(lines: readonly (readonly (string | number)[])[], flags: readonly string[]): Promise<string[]> {
    const { writeFile } = await import("node:fs/promises");
    const file = `${this.folder}/sentinel.conf`;
    await writeFile(file, `${lines.map((words) => words.join(" ")).join("\n")}\n`);
    return [file, ...flags];
  }

  #heard(chunk: Buffer): void {
    this.#output = (this.#output + chunk.toString()).slice(-4_000);
  }
}
