/**
 * The command line: one file a command beside this one, and one way to fail.
 *
 * Bad input ends with code 2 and an error that names the flag, the bounds and the value, and a hint; what could not be done ends
 * with 1. Standard output stays empty then, so that a pipe never takes an error for a result.
 */
import { Command, CommanderError } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { Failure } from "../input/failure.ts";
import { InputError } from "../input/input-error.ts";
import type { Console } from "../terminal/console.ts";
import { auditCommand } from "./audit.ts";
import { benchCommand } from "./bench.ts";
import { configCommand } from "./config.ts";
import { doctorCommand } from "./doctor.ts";
import { EXIT } from "./exit-codes.ts";
import { keysCommand } from "./keys.ts";
import { chargeCommand, inspectCommand, limitCommand } from "./limit.ts";
import { migrateCommand } from "./migrate.ts";
import { namespacesCommand } from "./namespaces.ts";
import { overridesCommand } from "./overrides.ts";
import { serveCommand } from "./serve.ts";
import { simulateCommand } from "./simulate.ts";
import { topCommand } from "./top.ts";
import { topIdentifiersCommand } from "./top-identifiers.ts";
import { workspacesCommand } from "./workspaces.ts";

/** Runs one command line, without the name of the program; answers the exit code. */
export async function runProgram(args: readonly string[], console: Console): Promise<number> {
  let exitCode: number = EXIT.ok;
  const exit = (code: number) => {
    exitCode = code;
  };
  const program = new Command("sluice")
    .description("Command line of Sluice, a distributed rate limiter.")
    .version(manifest.version, "--version", "print the version");
  for (const command of [
    serveCommand(console, exit),
    configCommand(console),
    limitCommand(console, exit),
    chargeCommand(console, exit),
    inspectCommand(console),
    benchCommand(console, exit),
    topIdentifiersCommand(console),
    topCommand(console),
    overridesCommand(console),
    namespacesCommand(console),
    keysCommand(console),
    workspacesCommand(console),
    auditCommand(console),
    migrateCommand(console),
    doctorCommand(console, exit),
    simulateCommand(console, exit),
  ]) {
    program.addCommand(command);
  }
  for (const command of [program, ...commandsBelow(program)]) {
    command
      .exitOverride()
      .showSuggestionAfterError()
      .configureOutput({ writeOut: (text) => console.out(text.trimEnd()), outputError: () => {}, writeErr: () => {} });
  }
  try {
    await program.parseAsync(upToUnknown(program, args), { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    const { message, hint } = error instanceof Failure ? error : inputErrorOf(error, commandOf(program, args));
    console.notice(`error: ${message}`);
    console.notice(`hint: ${hint}`);
    return error instanceof Failure ? EXIT.failed : EXIT.input;
  }
}

function commandsBelow(command: Command): Command[] {
  return command.commands.flatMap((subcommand) => [subcommand, ...commandsBelow(subcommand)]);
}

/** By its name or its alias. */
function subcommand(command: Command, word: string): Command | undefined {
  return command.commands.find((candidate) => candidate.name() === word || candidate.aliases().includes(word));
}

/**
 * The words up to a command that is not known, else all of them: with --help behind it, commander would show the help of what stands
 * before it, as if nothing were wrong.
 */
function upToUnknown(program: Command, args: readonly string[]): string[] {
  let known = program;
  for (const [at, word] of args.entries()) {
    if (known.commands.length === 0 || word.startsWith("-") || word === "help") break;
    const named = subcommand(known, word);
    if (named === undefined) return args.slice(0, at + 1);
    known = named;
  }
  return [...args];
}

/** The command that these words name, as far as they do. */
function commandOf(program: Command, args: readonly string[]): Command {
  const [name, ...rest] = args;
  const named = name === undefined ? undefined : subcommand(program, name);
  return named === undefined ? program : commandOf(named, rest);
}

/** What commander refuses, in the form that all bad input has. Anything else is not the user's doing, and goes on. */
function inputErrorOf(error: unknown, command: Command): InputError {
  if (error instanceof InputError) return error;
  if (!(error instanceof CommanderError)) throw error;
  const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = more.join(" ").replace(/^\(|\)$/g, "");
  if (error.code === "commander.optionMissingArgument") return missingValue(message, command);
  if (error.code === "commander.help") {
    const names = command.commands.map((subcommand) => subcommand.name()).join(", ");
    return new InputError("a command is missing", `commands are ${names}`);
  }
  return new InputError(message, suggestion === "" ? `${pathOf(command)} --help shows every flag` : suggestion);
}

/** `sluice config check`. */
function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** A flag says at the end of its help, in brackets, what its value must be. */
function missingValue(message: string, command: Command): InputError {
  const flag = /--[a-z-]+/.exec(message)?.[0] ?? "the flag";
  const help = command.options.find(({ long }) => long === flag)?.description ?? "";
  const rule = /^.* \((.+?)(, needed)?(; default .*)?\)$/.exec(help)?.[1] ?? "followed by a value";
  return InputError.of({ field: flag, rule, value: undefined, hint: `write ${flag} VALUE` });
}
