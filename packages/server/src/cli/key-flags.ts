/** The flags of `sluice keys`. */
import { ACTIONS, ADMIN_ACTIONS, isPermission, PERMISSIONS_MAX } from "../access/permission.ts";
import { InputError, shown } from "../input/input-error.ts";
import { spanWithin, wholeSpanWithin } from "../input/readings.ts";
import type { Flag } from "./command-flags.ts";

const NAME_LENGTH_MAX = 128;
const DAY_MS = 86_400_000;
/** Ten years: what is longer is meant to have no end. */
const EXPIRES_MAX_MS = 3_650 * DAY_MS;

export const WORKSPACE: Flag = {
  name: "workspace",
  value: "<name>",
  help: "the workspace, by name or id",
  rule: "1 to 128 characters",
  read: (value) => (isText(value, NAME_LENGTH_MAX) ? value : undefined),
};

export const NAME: Flag = {
  name: "name",
  value: "<text>",
  help: "a description of its purpose",
  rule: "1 to 128 characters",
  read: (value) => (isText(value, NAME_LENGTH_MAX) ? value : undefined),
};

export type Permissions = readonly string[];

/** What a service needs that is limited by this server. */
const LIMIT_ALONE: Permissions = ["ratelimit.*.limit", "ratelimit.*.create_namespace"];

export const PERMISSIONS = {
  name: "permissions",
  value: "<list>",
  help: `its permissions, separated by commas: * for everything, or ratelimit.*.ACTION, or ratelimit.NAMESPACE_ID.ACTION; actions are ${ACTIONS.join(", ")}; or admin.*.ACTION with ${ADMIN_ACTIONS.join(", ")}; default ${LIMIT_ALONE.join(",")}`,
  rule: `1 to ${PERMISSIONS_MAX} permissions`,
  initial: LIMIT_ALONE,
  read: (value: unknown): Permissions | undefined => {
    const list = listOf(value);
    const isLegal = list.length > 0 && list.length <= PERMISSIONS_MAX && list.every(isPermission);
    return isLegal ? [...new Set(list)] : undefined;
  },
  hint: (value: unknown): string => {
    const wrong = listOf(value).find((item) => !isPermission(item));
    const forms = `ratelimit.*.ACTION or ratelimit.NAMESPACE_ID.ACTION, ACTION one of ${ACTIONS.join(", ")}; or admin.*.ACTION, ACTION one of ${ADMIN_ACTIONS.join(", ")}; or *`;
    return wrong === undefined ? `write ${forms}` : `${shown(wrong)} is not a permission: write ${forms}`;
  },
} satisfies Flag & { readonly initial: Permissions };

const span = spanWithin(1_000, EXPIRES_MAX_MS);
const MOMENT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/;

/** Read as a function of now: a moment is itself, a span is counted from now. */
export const EXPIRES = {
  name: "expires",
  value: "<time>",
  help: "when it expires: after a duration such as 12h or 90d, or at a time such as 2027-01-31 or 2027-01-31T12:00:00Z; default never",
  rule: "from 1s to 3650d, or a time in the future",
  read: (value: unknown): ((nowMs: number) => number) | undefined => {
    if (typeof value !== "string") return undefined;
    if (MOMENT.test(value)) {
      const atMs = momentOf(value);
      return atMs === undefined ? undefined : () => atMs;
    }
    const ms = /\d$/.test(value) ? undefined : span(value);
    return ms === undefined ? undefined : (nowMs) => nowMs + Math.round(ms);
  },
  past: (atMs: number): InputError =>
    new InputError(`--expires must be a time in the future; got ${new Date(atMs).toISOString()}`, "such as 90d"),
} satisfies Flag & { readonly past: (atMs: number) => InputError };

export const GRACE: Flag = {
  name: "grace",
  value: "<time>",
  help: "how long the old key stays valid, such as 1h, so that clients can switch; default: it is revoked immediately",
  rule: "from 1s to 30d",
  read: wholeSpanWithin(1_000, 30 * DAY_MS),
};

/** Unix milliseconds of `2027-01-31` or `2027-01-31T12:00:00Z`. */
export function momentOf(text: string): number | undefined {
  const atMs = MOMENT.test(text) ? Date.parse(text) : Number.NaN;
  // The 31st of February would be the 3rd of March.
  const isDay = !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text.slice(0, 10));
  return isDay ? atMs : undefined;
}

function isText(value: unknown, lengthMax: number): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= lengthMax && !/\p{C}/u.test(value);
}

function listOf(value: unknown): readonly string[] {
  return typeof value === "string" ? value.split(",").map((item) => item.trim()) : [];
}
