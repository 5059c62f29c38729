/**
 * A database server of a test's own: on a private port, in a temporary folder, gone at the end.
 *
 * MariaDB and PostgreSQL refuse to run as root: started by root, they run as the user of their package. Killed, it can be started
 * again on the same port with what its folder holds; frozen, it answers nothing, and its connections stay open.
 */
import { type ChildProcess, execFileSync } from "node:child_process";
import { chownSync } from "node:fs";
import { end, removeFolder, start, temporaryFolder } from "./child-processes.ts";
import { freePort } from "./free-port.ts";
import { poll } from "./poll.ts";
import { fillPrepared } from "./prepared-folder.ts";
import { freezeTree, killTree, thawTree } from "./process-signals.ts";

export interface DatabaseProgram {
  /** The user that it runs as if the tests run as root. */
  readonly user: string;
  /** What prepares its folder (copied where it was prepared before), what adds to it, and what runs it: a command and its words. */
  prepare(folder: string): readonly string[];
  readonly add: readonly string[] | null;
  run(folder: string, port: number): readonly string[];
  /** Resolves if it answers. */
  ping(port: number): Promise<unknown>;
}

export class DatabaseProcess {
  readonly port: number;
  readonly folder: string;
  readonly #program: DatabaseProgram;
  #child: ChildProcess | undefined;
  #output = "";

  private constructor(program: DatabaseProgram, port: number) {
    this.#program = program;
    this.port = port;
    this.folder = temporaryFolder();
  }

  static async start(program: DatabaseProgram): Promise<DatabaseProcess> {
    const server = new DatabaseProcess(program, await freePort());
    const user = identityOf(program.user);
    const runIn = (folder: string, [command = "", ...words]: readonly string[]) => {
      if (user !== null) chownSync(folder, user.uid, user.gid);
      execFileSync(command, words, { stdio: "pipe", cwd: folder, ...user });
    };
    fillPrepared(server.folder, program.prepare, runIn);
    if (program.add !== null) runIn(server.folder, program.add);
    await server.begin();
    return server;
  }

  /** Starts it, again if need be, and waits until it answers. */
  async begin(): Promise<void> {
    const [command, ...words] = this.#program.run(this.folder, this.port);
    const user = identityOf(this.#program.user);
    const child = start(command!, words, { stdio: ["ignore", "pipe", "pipe"], cwd: this.folder, ...user });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => this.#heard(chunk));
    await poll(
      `${command} on port ${this.port}`,
      async () => {
        if (child.exitCode !== null) throw new Error(`${command} ended: ${this.#output}`);
        await this.#program.ping(this.port);
        return true;
      },
      30_000,
    );
  }

  /** SIGKILL: unsaved data is lost. PostgreSQL's child processes are killed too; otherwise they would still answer pending requests. */
  async kill(): Promise<void> {
    if (this.#child === undefined) return;
    await killTree(this.pid);
    await end(this.#child, "SIGKILL");
  }

  /** Resolves when neither it nor any of its children can answer any more. */
  freeze(): Promise<void> {
    return freezeTree(this.pid);
  }

  thaw(): Promise<void> {
    return thawTree(this.pid);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async stop(): Promise<void> {
    await this.kill();
    removeFolder(this.folder);
  }

  #heard(chunk: Buffer): void {
    this.#output = (this.#output + chunk.toString()).slice(-4_000);
  }
}

function identityOf(name: string): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string) => Number(execFileSync("id", [flag, name], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
