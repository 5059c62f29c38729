/** A real parent process and the workers that share its origin: see shared-parent.mjs. */
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { end, start } from "./child-processes.ts";
import { poll } from "./poll.ts";
import { freeze, thaw } from "./process-signals.ts";
import { STARVED_MAX_MS } from "./starvation.ts";

const PROGRAM = fileURLToPath(new URL("shared-parent.mjs", import.meta.url));

export class SharedParent {
  readonly #child: ChildProcess;
  readonly #pids = new Map<string, number>();
  readonly #ends = new Map<string, string>();
  #said = "";

  constructor(kind: "fork" | "cluster") {
    this.#child = start(process.execPath, [PROGRAM, kind], { stdio: ["pipe", "pipe", "pipe"] });
    this.#child.stdout?.on("data", (chunk: Buffer) => this.#hear(chunk.toString()));
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#said += chunk.toString();
    });
  }

  /** What it and its workers said of errors. */
  get said(): string {
    return this.#said;
  }

  /** Starts a worker with these options; its process id, once it asks. */
  async begin(options: { readonly name: string }): Promise<number> {
    this.#child.stdin?.write(`${JSON.stringify(options)}\n`);
    return poll(`${options.name} asks`, () => this.#pids.get(options.name), STARVED_MAX_MS);
  }

  /** How a worker ended: its exit code, or the signal. */
  ended(name: string): Promise<string> {
    return poll(`${name} ended`, () => this.#ends.get(name), STARVED_MAX_MS);
  }

  /** SIGKILL: it says no goodbye to anybody. */
  kill(): Promise<void> {
    return end(this.#child, "SIGKILL");
  }

  /** Stops it, and none of its workers. */
  freeze(): Promise<void> {
    return freeze(this.#child.pid!);
  }

  thaw(): Promise<void> {
    return thaw(this.#child.pid!);
  }

  #rest = "";

  #hear(chunk: string): void {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const [word, name = "", value = ""] = line.split(" ");
      if (word === "ready") this.#pids.set(name, Number(value));
      if (word === "ended") this.#ends.set(name, value);
    }
  }
}
