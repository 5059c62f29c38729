/** `sluice audit`: who changed what, the newest first. */
import type { Command } from "commander";
import type { AuditRecord } from "../admin/records.ts";
import { integerWithin } from "../plan/readings.ts";
import type { Flag } from "./command-flags.ts";
import type { Console } from "./console.ts";
import { WORKSPACE } from "./key-flags.ts";
import { storeCommand } from "./store-command.ts";
import { tableOf } from "./text-table.ts";
import { workspaceNamed } from "./workspaces.ts";

const LINES_DEFAULT = 50;
const LINES_MAX = 10_000;

const LINES: Flag = {
  name: "limit",
  value: "<n>",
  help: `how many changes; else ${LINES_DEFAULT}`,
  rule: `an integer from 1 to ${LINES_MAX}`,
  read: integerWithin(1, LINES_MAX),
};

const BEFORE: Flag = {
  name: "before",
  value: "<cursor>",
  help: "those before this one: the cursor of the last line",
  rule: "an integer",
  read: (value) => (/^\d{1,16}$/.test(String(value)) ? value : undefined),
};

export function auditCommand(console: Console): Command {
  return storeCommand(console, {
    name: "audit",
    description: "List what was changed in a workspace: who, what, before and after.",
    flags: [{ ...WORKSPACE, help: "the workspace, by name or id; else default" }, LINES, BEFORE],
    run: async (store, { flags }) => {
      const {
        workspace = "default",
        limit = LINES_DEFAULT,
        before,
      } = flags as {
        workspace?: string;
        limit?: number;
        before?: string;
      };
      const { id } = workspaceNamed((await store.changesSince(0))!.workspaces, workspace);
      const trail = await store.readAudit(id, { limit, ...(before === undefined ? {} : { before }) });
      return { json: trail.map(dataOf), text: trail.length === 0 ? "no changes" : textOf(trail) };
    },
  });
}

function dataOf({ cursor, atMs, actor, action, subject, before, after }: AuditRecord) {
  return { cursor, at: atMs, actor, action, subject, before, after };
}

function textOf(trail: readonly AuditRecord[]): string {
  return tableOf(
    ["cursor", "at", "who", "what", "which", "changed"],
    trail.map((one) => [
      one.cursor,
      new Date(one.atMs).toISOString(),
      one.actor,
      one.action,
      one.subject,
      differenceOf(one),
    ]),
  );
}

/** What is not the same before and after; of what was made or ended, all of it. */
function differenceOf({ before, after }: AuditRecord): string {
  const [old, now] = [before ?? {}, after ?? {}] as Record<string, unknown>[];
  const names = [...new Set([...Object.keys(old!), ...Object.keys(now!)])];
  const text = (value: unknown) => JSON.stringify(value);
  return names
    .filter((name) => text(old![name]) !== text(now![name]) && !["id", "workspaceId", "updatedAtMs"].includes(name))
    .map((name) => {
      if (before === null) return `${name} ${text(now![name])}`;
      return after === null ? `${name} ${text(old![name])}` : `${name} ${text(old![name])} → ${text(now![name])}`;
    })
    .join(", ");
}
