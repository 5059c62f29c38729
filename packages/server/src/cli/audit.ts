/** `sluice audit`: who changed what, the newest first. */
import type { Command } from "commander";
import { searchAudit } from "../admin/audit-search.ts";
import type { AuditRecord, NamespaceRecord } from "../admin/records.ts";
import { Failure } from "../input/failure.ts";
import { integerWithin } from "../input/readings.ts";
import type { Console } from "../terminal/console.ts";
import { tableOf } from "../terminal/text-table.ts";
import type { Flag } from "./command-flags.ts";
import { momentOf, WORKSPACE } from "./key-flags.ts";
import { storeCommand } from "./store-command.ts";
import { workspaceNamed } from "./workspaces.ts";

const LINES_DEFAULT = 50;
const LINES_MAX = 10_000;
const TEXT_MAX = 512;

const LINES: Flag = {
  name: "limit",
  value: "<n>",
  help: `the maximum number of changes; default ${LINES_DEFAULT}`,
  rule: `an integer from 1 to ${LINES_MAX}`,
  read: integerWithin(1, LINES_MAX),
};

const BEFORE: Flag = {
  name: "before",
  value: "<cursor>",
  help: "only changes before this cursor (for the next page, use the cursor of the last line)",
  rule: "an integer",
  read: (value) => (/^\d{1,16}$/.test(String(value)) ? value : undefined),
};

const NAMESPACE: Flag = {
  name: "namespace",
  value: "<name>",
  help: "only changes of this namespace and its overrides, by name or id",
  rule: `1 to ${TEXT_MAX} characters`,
  read: textOf512,
};

const ACTOR: Flag = {
  name: "actor",
  value: "<who>",
  help: "only changes by this actor: key:KEY_ID, cli:USER or server",
  rule: `1 to ${TEXT_MAX} characters`,
  read: textOf512,
};

const SINCE: Flag = {
  name: "since",
  value: "<moment>",
  help: "only changes at or after this time",
  rule: "a time such as 2027-01-31 or 2027-01-31T12:00:00Z",
  read: (value) => momentOf(String(value)),
};

const UNTIL: Flag = { ...SINCE, name: "until", help: "only changes before this time" };

interface AuditFlags {
  readonly workspace?: string;
  readonly limit?: number;
  readonly before?: string;
  readonly namespace?: string;
  readonly actor?: string;
  readonly since?: number;
  readonly until?: number;
}

export function auditCommand(console: Console): Command {
  return storeCommand(console, {
    name: "audit",
    description: "List the changes in a workspace: actor, action, and the values before and after.",
    flags: [
      { ...WORKSPACE, help: "the workspace, by name or id; default: default" },
      NAMESPACE,
      ACTOR,
      SINCE,
      UNTIL,
      LINES,
      BEFORE,
    ],
    run: async (store, { flags }) => {
      const {
        workspace = "default",
        limit = LINES_DEFAULT,
        before,
        namespace,
        actor,
        since,
        until,
      } = flags as AuditFlags;
      const { workspaces, namespaces } = (await store.changesSince(0))!;
      const { id } = workspaceNamed(workspaces, workspace);
      const own = namespaces.filter(({ workspaceId }) => workspaceId === id);
      const about = namespace === undefined ? undefined : namespaceNamed(own, namespace).id;
      const trail: AuditRecord[] = [];
      let next: string | null | undefined = before;
      do {
        const found = await searchAudit(store, id, {
          actor,
          namespaceId: about,
          limit: limit - trail.length,
          ...(next === undefined ? {} : { before: next }),
          ...(since === undefined ? {} : { sinceMs: since }),
          ...(until === undefined ? {} : { untilMs: until }),
        });
        trail.push(...found.changes);
        next = found.next;
      } while (next !== null && trail.length < limit);
      return { json: trail.map(dataOf), text: trail.length === 0 ? "no changes" : textOf(trail, own) };
    },
  });
}

/** By id or name; of several that had the name, the one that lives. */
function namespaceNamed(namespaces: readonly NamespaceRecord[], named: string): NamespaceRecord {
  const all = namespaces.filter(({ id, name }) => id === named || name === named);
  const found = all.find(({ id }) => id === named) ?? all.find(({ deletedAtMs }) => deletedAtMs === null) ?? all.at(-1);
  if (found !== undefined) return found;
  throw new Failure(
    `there is no namespace ${JSON.stringify(named)} in this workspace`,
    "sluice namespaces list shows them",
  );
}

function textOf512(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= TEXT_MAX ? value : undefined;
}

function dataOf({ cursor, atMs, actor, action, subject, before, after }: AuditRecord) {
  return { cursor, at: atMs, actor, action, subject, before, after };
}

function textOf(trail: readonly AuditRecord[], namespaces: readonly NamespaceRecord[]): string {
  const names = new Map(namespaces.map(({ id, name }) => [id, name]));
  return tableOf(
    ["cursor", "at", "who", "what", "which", "namespace", "changed"],
    trail.map((change) => [
      change.cursor,
      new Date(change.atMs).toISOString(),
      change.actor,
      change.action,
      change.subject,
      names.get(namespaceIdOf(change)) ?? "",
      differenceOf(change),
    ]),
  );
}

/** Of an override, the namespace it is in; else what was changed itself, which may be one. */
function namespaceIdOf({ subject, before, after }: AuditRecord): string {
  const { namespaceId = subject } = (after ?? before ?? {}) as { readonly namespaceId?: string };
  return namespaceId;
}

/** What stands in a column of its own, or says nothing. */
const NOT_TOLD = ["id", "workspaceId", "namespaceId", "updatedAtMs"];

/** What is not the same before and after; of what was made or ended, all of it. */
function differenceOf({ before, after }: AuditRecord): string {
  const [old, now] = [before ?? {}, after ?? {}] as Record<string, unknown>[];
  const names = [...new Set([...Object.keys(old!), ...Object.keys(now!)])];
  const text = (value: unknown) => JSON.stringify(value);
  return names
    .filter((name) => text(old![name]) !== text(now![name]) && !NOT_TOLD.includes(name))
    .map((name) => {
      if (before === null) return `${name} ${text(now![name])}`;
      return after === null ? `${name} ${text(old![name])}` : `${name} ${text(old![name])} → ${text(now![name])}`;
    })
    .join(", ");
}
