/** Starts and stops the attacker's process (main.ts). */
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { start } from "../rig/child-processes.ts";
import type { Target } from "./attack.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** By attack: how often each outcome was seen. */
export type AttackReport = Readonly<Record<string, Readonly<Record<string, number>>>>;

export class Attacker {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #out = "";
  #err = "";

  /** @param only the names of attacks; empty: all that servers withstand (main.ts). */
  constructor(target: Target, only: readonly string[] = []) {
    const order = JSON.stringify({ ...target, only });
    const env = { PATH: process.env["PATH"] ?? "", SLUICE_ATTACK_TARGET: order };
    this.#child = start(process.execPath, ["--import", "tsx", MAIN], {
      env,
      cwd: ROOT,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.#out += chunk.toString();
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#err += chunk.toString();
    });
    this.#ended = new Promise((resolve) => this.#child.once("close", () => resolve()));
  }

  /** Ends the attacks. Throws if the attacker failed. */
  async stop(): Promise<AttackReport> {
    this.#child.stdin?.end();
    await this.#ended;
    if (this.#out === "") throw new Error(`the attacker failed: ${this.#err}`);
    return JSON.parse(this.#out) as AttackReport;
  }
}
