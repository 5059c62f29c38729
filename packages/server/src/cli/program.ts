/**
 * The command line: one file a command beside this one, and one way to fail.
 *
 * Bad input ends with code 2 and an error that names the flag, the bounds and the value, and a hint; standard output stays
 * empty, so that a pipe never takes an error for a result.
 */
import { Command, CommanderError } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { InputError } from "../input-error.ts";
import { FIELDS } from "../plan/fields.ts";
import type { Console } from "./console.ts";
import { simulateCommand } from "./simulate.ts";

const INPUT_CODE = 2;

/** Runs one command line, without the name of the program; answers the exit code. */
export async function runProgram(args: readonly string[], console: Console): Promise<number> {
  let exitCode = 0;
  const exit = (code: number) => {
    exitCode = code;
  };
  const program = new Command("sluice")
    .description("Sluice, a distributed rate limiter: its command line.")
    .version(manifest.version);
  program.addCommand(simulateCommand(console, exit));
  for (const command of [program, ...program.commands]) {
    command
      .exitOverride()
      .showSuggestionAfterError()
      .configureOutput({ writeOut: (text) => console.out(text.trimEnd()), outputError: () => {}, writeErr: () => {} });
  }
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const { message, hint } = inputErrorOf(error, program);
    console.notice(`error: ${message}`);
    console.notice(`hint: ${hint}`);
    return INPUT_CODE;
  }
}

/** What commander refuses, in the form that all bad input has. Anything else is not the user's doing, and goes on. */
function inputErrorOf(error: unknown, program: Command): InputError {
  if (error instanceof InputError) return error;
  if (!(error instanceof CommanderError)) throw error;
  const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = more.join(" ").replace(/^\(|\)$/g, "");
  if (error.code === "commander.optionMissingArgument") {
    const field = FIELDS.find(({ name }) => message.includes(`--${name} `));
    const rule = field === undefined ? "followed by a value" : field.rule;
    const flag = /--[a-z-]+/.exec(message)?.[0] ?? "the flag";
    return InputError.of({
      field: flag,
      rule,
      value: undefined,
      hint: field?.hint(undefined) ?? `write ${flag} VALUE`,
    });
  }
  if (error.code === "commander.help") {
    return new InputError(
      "a command is missing",
      `commands are ${program.commands.map((one) => one.name()).join(", ")}`,
    );
  }
  return new InputError(message, suggestion === "" ? "sluice simulate --help shows every flag" : suggestion);
}
