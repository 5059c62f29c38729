/** The settings of a server as flags of a command. */
import type { Command } from "commander";
import { FILE_SUFFIX, flagOf, type Setting } from "../config/setting.ts";
import { ALL_SETTINGS } from "../config/settings-table.ts";

/** Of a token only the file that holds it has a flag that works; the other one is there to say so. */
export function addSettingOptions(command: Command, settings: readonly Setting[] = ALL_SETTINGS): Command {
  for (const setting of settings) {
    const { path, value, help, rule, initialText, secret } = setting;
    const described = `${help} (${rule}; default ${initialText})`;
    const option = command.createOption(`${flagOf(path)} ${value}`.trim(), described);
    command.addOption(secret === "token" ? option.hideHelp() : option);
    if (secret !== undefined)
      command.addOption(command.createOption(`${flagOf(path + FILE_SUFFIX)} <path>`, fileHelp(setting)));
  }
  return command.option("--file <path>", "a YAML file with settings; the environment and flags override it");
}

function fileHelp({ path, secret, help }: Setting): string {
  return secret === "token"
    ? `a file with the value of: ${help}`
    : `a file with the value of ${flagOf(path)}, for a URL with a password`;
}
