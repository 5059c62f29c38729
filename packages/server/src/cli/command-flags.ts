/** Flags with a rule each, the same for every command that has them. */
import type { Command } from "commander";
import { InputError } from "../input/input-error.ts";
import type { ReadValue } from "../input/readings.ts";

/** What to print: as JSON if asked, else as text. */
export interface CommandOutcome {
  readonly json: unknown;
  readonly text: string;
  /** For the person at the terminal, and not for a pipe. */
  readonly notice?: string;
}

export interface Flag {
  readonly name: string;
  /** `<n>`; empty for one that stands alone. */
  readonly value: string;
  readonly help: string;
  readonly rule: string;
  readonly read: ReadValue<unknown>;
  /** What to write instead. */
  readonly hint?: (value: unknown) => string;
  readonly isNeeded?: boolean;
  /** What holds where it is not given, as it would be written. */
  readonly initialText?: string;
}

export interface CommandInput {
  /** The words after the command, in order. */
  readonly args: readonly string[];
  /** Flags that were given or have an initial value, read. */
  readonly flags: Readonly<Record<string, unknown>>;
}

export function addFlags(command: Command, flags: readonly Flag[]): Command {
  for (const flag of flags) {
    const isNeeded = flag.isNeeded === true ? ", needed" : "";
    const initial = flag.initialText === undefined ? "" : `; default ${flag.initialText}`;
    command.option(`--${flag.name} ${flag.value}`.trim(), `${flag.help} (${flag.rule}${isNeeded}${initial})`);
  }
  return command;
}

export function readFlags(flags: readonly Flag[], options: Readonly<Record<string, unknown>>): CommandInput["flags"] {
  const values: Record<string, unknown> = {};
  for (const { name, rule, read, isNeeded, initialText, hint = () => "--help shows every flag" } of flags) {
    const value = options[name] ?? initialText;
    if (value === undefined) {
      if (isNeeded !== true) continue;
      throw new InputError(`--${name} is missing: it must be ${rule}`, `write --${name} VALUE`);
    }
    values[name] = read(value);
    if (values[name] === undefined) {
      throw InputError.of({ field: `--${name}`, rule, value, hint: hint(value) });
    }
  }
  return values;
}
