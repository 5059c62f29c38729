/** The command `sluice`: the one file that touches the real process. */

import { runProgram } from "./cli/program.ts";
import { systemConsole } from "./terminal/console.ts";

const args = process.argv.slice(2);

// A reader that has seen enough (`| head`) is no error: there is nothing more to do, except for a server.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  if (args[0] !== "serve") process.exit(0);
});

process.exitCode = await runProgram(args, systemConsole());
