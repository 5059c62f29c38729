/**
 * What the commands have in common that work on the admin store itself, whether a server runs or not: whoever may open the database
 * may do everything. Servers see a change within a second.
 */
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join, resolve } from "node:path";
import { Command } from "commander";
import { AdminSchemaError } from "../admin/admin-schema.ts";
import { type Actor, AdminStoreAway, NameTaken } from "../admin/admin-store.ts";
import { openAdminStore } from "../admin/open-admin-store.ts";
import type { SqlAdminStore } from "../admin/sql-admin-store.ts";
import { loadSettings } from "../config/load-settings.ts";
import type { ServerSettings } from "../config/settings.ts";
import { SETTINGS } from "../config/settings-table.ts";
import { Failure } from "../input/failure.ts";
import { SYSTEM } from "../system/system.ts";
import type { Console } from "../terminal/console.ts";
import { addFlags, type CommandInput, type CommandOutcome, type Flag, readFlags } from "./command-flags.ts";
import { addSettingOptions } from "./setting-options.ts";

/** Where the store is: what these commands need of a server's settings. */
const PLACE = [SETTINGS.data, SETTINGS.sqlUrl, SETTINGS.sqlTls, SETTINGS.sqlCaFile];

export interface StoreCommand {
  readonly name: string;
  readonly description: string;
  /** Such as `<key>`. */
  readonly args?: readonly string[];
  readonly flags?: readonly Flag[];
  readonly run: (store: SqlAdminStore, given: CommandInput, actor: Actor) => Promise<CommandOutcome>;
}

export function storeCommand(
  console: Console,
  { name, description, args = [], flags = [], run }: StoreCommand,
): Command {
  return placedCommand(console, { name, description, args, flags }, async (settings, given) => {
    const { sqlUrl, sqlTls, dataDir } = settings;
    if (sqlUrl === null) requireFile(dataDir);
    const store = await openAdminStore({ sqlUrl, dataDir, tls: sqlTls }, SYSTEM);
    try {
      return await run(store, given, actor());
    } finally {
      await store.close();
    }
  });
}

/** A command with the flags that say where the store is; what fails there is told as a failure. */
export function placedCommand(
  console: Console,
  { name, description, args = [], flags = [] }: Omit<StoreCommand, "run">,
  run: (settings: ServerSettings, given: CommandInput) => Promise<CommandOutcome>,
): Command {
  const command = new Command(name).description(description);
  for (const arg of args) command.argument(arg);
  return addSettingOptions(addFlags(command, flags), PLACE)
    .option("--json", "print as JSON")
    .action(async (...words: unknown[]) => {
      const options = command.opts();
      const given = { args: words.slice(0, args.length) as string[], flags: readFlags(flags, options) };
      const { settings } = loadSettings(options, console.environment);
      const { json, text, notice } = await run(settings, given).catch(refuse);
      console.out(options["json"] === true ? JSON.stringify(json, null, 2) : text);
      if (notice !== undefined && options["json"] !== true) console.notice(notice);
    });
}

function refuse(error: unknown): never {
  if (error instanceof AdminSchemaError) throw new Failure(error.message, "docs/keys.md lists the required rights");
  if (error instanceof AdminStoreAway) {
    throw new Failure(`the store cannot be used: ${error.message}`, "set --data or --sql-url to its location");
  }
  if (error instanceof NameTaken) throw new Failure(error.message, "choose another");
  throw error;
}

/** In a wrong folder, a new and empty store would be made, and nobody would notice. */
function requireFile(dataDir: string): void {
  const file = join(resolve(dataDir), "sluice.db");
  if (existsSync(file)) return;
  throw new Failure(
    `there is no store yet: ${file}`,
    "set --data or SLUICE_DATA to the server's data folder; sluice migrate creates a new store",
  );
}

/** As the audit trail names the person at the command line. */
function actor(): Actor {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A user without a name, as in some containers.
    return `cli:${process.getuid?.() ?? "unknown"}`;
  }
}
