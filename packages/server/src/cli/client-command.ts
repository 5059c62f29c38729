/** What the commands have in common that ask a running server. */
import { Command } from "commander";
import { ApiClient, type FieldName } from "../client/api-client.ts";
import { readSecretFile } from "../config/given.ts";
import { SETTINGS } from "../config/settings-table.ts";
import { InputError, shown } from "../input/input-error.ts";
import type { Console } from "../terminal/console.ts";
import { addFlags, type CommandInput, type CommandOutcome, type Flag, readFlags } from "./command-flags.ts";

const URL_DEFAULT = `http://127.0.0.1:${SETTINGS.port.initialText}`;

export interface ClientCommand {
  readonly name: string;
  readonly description: string;
  /** Such as `<namespace>`. */
  readonly args: readonly string[];
  readonly flags?: readonly Flag[];
  /** What to print: as JSON if asked, else as text. */
  readonly run: (client: ApiClient, given: CommandInput) => Promise<CommandOutcome>;
}

export function clientCommand(console: Console, { name, description, args, flags = [], run }: ClientCommand): Command {
  const command = new Command(name).description(description);
  for (const arg of args) command.argument(arg);
  return addServerOptions(addFlags(command, flags))
    .option("--json", "print as JSON")
    .action(async (...words: unknown[]) => {
      const options = command.opts();
      const given = { args: words.slice(0, args.length) as string[], flags: readFlags(flags, options) };
      const { json, text } = await run(clientOf(options, console, fieldName(args, flags)), given);
      console.out(options["json"] === true ? JSON.stringify(json, null, 2) : text);
    });
}

/** Which server, and by which key. */
export function addServerOptions(command: Command): Command {
  return command
    .option("--url <url>", `the server (a URL; default ${URL_DEFAULT}, or SLUICE_URL)`)
    .option(
      "--key-file <path>",
      "a file that holds the key (the path of a file; default SLUICE_ROOT_KEY, or the file named by SLUICE_ROOT_KEY_FILE)",
    );
}

function fieldName(args: readonly string[], flags: readonly Flag[]): FieldName {
  return (field) => {
    if (args.includes(`<${field}>`)) return `<${field}>`;
    return flags.some(({ name }) => name === field) ? `--${field}` : `body.${field}`;
  };
}

export function clientOf(
  options: Readonly<Record<string, unknown>>,
  { environment }: Console,
  called: FieldName = fieldName([], []),
): ApiClient {
  const [url, source] =
    options["url"] === undefined ? [environment["SLUICE_URL"], "SLUICE_URL"] : [options["url"], "--url"];
  return new ApiClient(
    checkedUrl(url === undefined || url === "" ? URL_DEFAULT : String(url), source),
    keyOf(options, environment),
    called,
  );
}

export function checkedUrl(url: string, called: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPlain =
    parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === "" && parsed.search === "";
  if (!isPlain) {
    throw new InputError(
      `${called} must be an http:// or https:// URL without a user name; got ${shown(url)}`,
      `such as ${URL_DEFAULT}`,
    );
  }
  return url.replace(/\/+$/, "");
}

export function isKeyGiven(options: Readonly<Record<string, unknown>>, environment: Console["environment"]): boolean {
  const given = [options["keyFile"], environment["SLUICE_ROOT_KEY"], environment["SLUICE_ROOT_KEY_FILE"]];
  return given.some((value) => value !== undefined && value !== "");
}

function keyOf(options: Readonly<Record<string, unknown>>, environment: Console["environment"]): string {
  const files = { "--key-file": options["keyFile"], SLUICE_ROOT_KEY_FILE: environment["SLUICE_ROOT_KEY_FILE"] };
  const preset = environment["SLUICE_ROOT_KEY"];
  if (files["--key-file"] === undefined && preset !== undefined && preset !== "")
    return checkedKey(preset, "SLUICE_ROOT_KEY");
  for (const [called, path] of Object.entries(files)) {
    if (path !== undefined && path !== "") return checkedKey(readSecretFile(path, called), called);
  }
  throw new InputError("a key is missing", "set SLUICE_ROOT_KEY, or use --key-file PATH for a file that holds it");
}

/** Shown by no error. */
function checkedKey(key: string, called: string): string {
  const { read, rule, hint } = SETTINGS.rootKey;
  if (read(key) !== undefined) return key;
  throw new InputError(`${called} must be ${rule}; got ${key.length} characters, not shown here`, hint(key));
}
