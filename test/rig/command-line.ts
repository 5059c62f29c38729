/** The command line within this process: what it printed, and how it ended. */
import { runProgram } from "../../packages/server/src/cli/program.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

export async function runSluice(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ran> {
  const out: string[] = [];
  const errors: string[] = [];
  const code = await runProgram(args, {
    out: (text) => out.push(text),
    notice: (text) => errors.push(text),
    progress: () => {},
    isTerminal: false,
    environment,
    nowMs: () => performance.now(),
    onStop: () => {},
  });
  return { code, out: out.join("\n"), errors: errors.join("\n") };
}
