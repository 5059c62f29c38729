/** `sluice serve`: runs the server until it is told to stop. */
import cluster from "node:cluster";
import { Command } from "commander";
import { loadSettings } from "../config/load-settings.ts";
import { isClean, type StopReport } from "../serve/service.ts";
import type { Console } from "../terminal/console.ts";
import { EXIT } from "./exit-codes.ts";
import { onNpmGone } from "./npm-parent.ts";
import { addSettingOptions } from "./setting-options.ts";

const DESCRIPTION =
  "Run the server. Settings come from a file, the environment (SLUICE_…) and flags; flags override the others. Without settings it listens on loopback, " +
  "stores namespaces, overrides and keys in a folder, and prints a key and an example request. If standard output is not a terminal, " +
  "the key is written to a file in that folder.";

const EXIT_AFTER_MS = 1_000;

export function serveCommand(console: Console, exit: (code: number) => void): Command {
  return addSettingOptions(new Command("serve").description(DESCRIPTION)).action(
    async (options: Record<string, unknown>) => {
      // Loaded here, because the other commands need no server. A worker's settings come from its parent.
      if (cluster.isWorker) return exit(await (await import("../serve/worker.ts")).runWorker(process));
      const { serve } = await import("../serve/serve.ts");
      const report = await serve(loadSettings(options, console.environment), {
        ...console,
        isOutTerminal: console.screen !== undefined,
        onStop: (callback) => {
          console.onStop(callback);
          onNpmGone(console.environment, callback);
        },
      });
      // Calls to a frozen database may still be pending: there is nothing more to do.
      setTimeout(() => process.exit(), EXIT_AFTER_MS).unref();
      if (isClean(report)) return exit(EXIT.ok);
      console.notice(`error: ${lossOf(report)}`);
      console.notice(
        "hint: the log names the store that was unavailable; a longer --shutdown-timeout leaves it more time to recover",
      );
      return exit(EXIT.lost);
    },
  );
}

function lossOf({ lost, cut, silent }: StopReport): string {
  const parts = [
    lost > 0 ? `${lost} of the accepted cost was not stored` : "",
    cut > 0 ? `${cut} connections were closed before their request was answered` : "",
    silent > 0 ? `${silent} workers exited without a report` : "",
  ];
  return `stopped with losses: ${parts.filter((part) => part !== "").join("; ")}`;
}
