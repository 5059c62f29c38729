/**
 * Where a server writes what happens: one line of JSON an event, with a level, to standard error.
 *
 * Written at once: a line that waits in memory is lost with the process, and the last lines are the ones that matter. Secrets have
 * no place in a line; what goes by their names is blotted out all the same.
 */
import { pino } from "pino";

export interface Log {
  debug(event: string, fields?: object): void;
  info(event: string, fields?: object): void;
  warn(event: string, fields?: object): void;
  error(event: string, fields?: object): void;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

const STANDARD_ERROR = 2;
const SECRETS = ["authorization", "token", "rootKey", "identifierKey", "password", "redisUrl", "sqlUrl"];

/** @param common what every line of this process says, such as its worker's number. */
export function createLog(level: LogLevel, common: object = {}): Log {
  const lines = pino(
    {
      level,
      base: { pid: process.pid, ...common },
      messageKey: "event",
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: "(hidden)" },
    },
    pino.destination({ dest: STANDARD_ERROR, sync: true }),
  );
  return {
    debug: (event, fields = {}) => lines.debug(fields, event),
    info: (event, fields = {}) => lines.info(fields, event),
    warn: (event, fields = {}) => lines.warn(fields, event),
    error: (event, fields = {}) => lines.error(fields, event),
  };
}
