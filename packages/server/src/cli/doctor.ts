/** `sluice doctor`: looks at everything that a server would need, and says what to change. Changes nothing. */
import { Command } from "commander";
import { loadSettings } from "../config/load-settings.ts";
import { SYSTEM } from "../system/system.ts";
import type { Console } from "../terminal/console.ts";
import type { Finding } from "../tools/doctor/finding.ts";
import { EXIT } from "./exit-codes.ts";
import { addSettingOptions } from "./setting-options.ts";

const DESCRIPTION =
  "Check what serve needs, with the same flags: settings, this machine, Redis, the database, clocks. Exits with 1 if a check fails.";

export function doctorCommand(console: Console, exit: (code: number) => void): Command {
  return addSettingOptions(new Command("doctor").description(DESCRIPTION))
    .option("--json", "print as JSON")
    .action(async ({ json, ...options }: Record<string, unknown>) => {
      const loaded = loadSettings(options, console.environment);
      // Loaded here, with the drivers: the other commands need none.
      const { examine } = await import("../tools/doctor/examination.ts");
      const findings = await examine(loaded, SYSTEM.clock);
      const isWell = findings.every(({ status }) => status !== "fail");
      console.out(json === true ? JSON.stringify({ ok: isWell, findings }, null, 2) : textOf(findings));
      exit(isWell ? EXIT.ok : EXIT.failed);
    });
}

function textOf(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const lines = findings.flatMap(({ status, subject, text, advice }) => [
    `${status.padEnd(4)}  ${subject.padEnd(width)}  ${clean(text)}`,
    ...(advice === null ? [] : [`${"".padEnd(width + 6)}  → ${advice}`]),
  ]);
  const count = (status: Finding["status"]) => findings.filter((finding) => finding.status === status).length;
  const counted = (status: "warn" | "fail", noun: string) =>
    `${count(status)} ${noun}${count(status) === 1 ? "" : "s"}`;
  return [...lines, `${count("ok")} ok, ${counted("warn", "warning")}, ${counted("fail", "failure")}`].join("\n");
}

/** Servers' own words may hold anything. */
function clean(text: string): string {
  return text.replaceAll(/\p{C}/gu, " ");
}
