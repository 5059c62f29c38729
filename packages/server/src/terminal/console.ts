/** The outside of a command: where it reads time and writes text. Passed in, so that a command can be tried without it.
 *
 * The one place where a command's text is printed, and so where it is made safe: what others have stored must not control the terminal. */
import { safeText } from "./safe-text.ts";
import { type Screen, systemScreen } from "./screen.ts";

export interface Console {
  /** Results, and nothing else. */
  readonly out: (text: string) => void;
  /** Notices and errors, a line each. */
  readonly notice: (text: string) => void;
  /** Progress: on a terminal one line that is rewritten, elsewhere a line each time. */
  readonly progress: (text: string, isLast: boolean) => void;
  readonly isTerminal: boolean;
  /** The terminal that results go to; left out where that is a file or a pipe. */
  readonly screen?: Screen;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly nowMs: () => number;
  /** Calls back at the first Ctrl-C or termination, with the exit code that it asks for; the second ends the process. */
  readonly onStop: (callback: (exitCode: number) => void) => void;
}

/** By convention 128 + the number of the signal. */
const STOP_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export function systemConsole(): Console {
  const isTerminal = process.stderr.isTTY === true;
  let isLineOpen = false;
  const clear = () => {
    if (isLineOpen) process.stderr.write("\r\u001b[K");
    isLineOpen = false;
  };
  return {
    isTerminal,
    ...(process.stdout.isTTY === true ? { screen: systemScreen(process.stdin, process.stdout) } : {}),
    environment: process.env,
    nowMs: () => performance.now(),
    out: (text) => {
      process.stdout.write(`${safeText(text)}\n`);
    },
    notice: (text) => {
      clear();
      process.stderr.write(`${safeText(text)}\n`);
    },
    progress: (text, isLast) => {
      clear();
      // The last one would say 100 %: on a terminal the report follows at once, and a line of progress is not a result.
      if (isTerminal && isLast) return;
      process.stderr.write(isTerminal ? safeText(text) : `${safeText(text)}\n`);
      isLineOpen = isTerminal;
    },
    onStop: (callback) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        let isSecond = false;
        process.on(signal, () => {
          if (isSecond) process.exit(STOP_CODES[signal]);
          isSecond = true;
          callback(STOP_CODES[signal]);
        });
      }
    },
  };
}
