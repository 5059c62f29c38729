/** The command `sluice`: the one file that touches the real process. */
import { systemConsole } from "./cli/console.ts";
import { runProgram } from "./cli/program.ts";

// A reader that has seen enough (`| head`) is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

process.exitCode = await runProgram(process.argv.slice(2), systemConsole());
