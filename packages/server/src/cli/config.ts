/** `sluice config check`: says what a server would run by, and where each value comes from, without running it. */
import { Command } from "commander";
import { loadSettings } from "../config/load-settings.ts";
import type { Effective } from "../config/read-settings.ts";
import type { Console } from "../terminal/console.ts";
import { tableOf } from "../terminal/text-table.ts";
import { addSettingOptions } from "./setting-options.ts";

export function configCommand(console: Console): Command {
  const check = addSettingOptions(
    new Command("check").description("Check the settings that serve would use; takes the same flags."),
  )
    .option("--json", "print as JSON")
    .action(({ json, ...options }: Record<string, unknown>) => {
      const { effective, warnings } = loadSettings(options, console.environment);
      console.out(json === true ? jsonOf(effective, warnings) : textOf(effective));
      if (json !== true) for (const warning of warnings) console.notice(`warning: ${warning}`);
    });
  return new Command("config").description("Check the settings of a server.").addCommand(check);
}

function jsonOf(effective: readonly Effective[], warnings: readonly string[]): string {
  const settings = effective.map(({ path, shown, source }) => ({ name: path, value: shown, source }));
  return JSON.stringify({ valid: true, warnings, settings }, null, 2);
}

function textOf(effective: readonly Effective[]): string {
  const rows = effective.map(({ path, shown, source }) => [path, shown, source]);
  return tableOf(["setting", "value", "from"], rows);
}
