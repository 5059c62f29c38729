/** How many requests the keys of a workspace may make together: a limit like any other, counted by Sluice itself. */
import type { Decision, Limiter, Rule } from "sluice";
import type { WorkspaceRecord } from "../admin/records.ts";
import { Problem } from "./problem.ts";

/** No workspace has this id, so no customer's counts are near. */
const QUOTA_WORKSPACE = "$sluice";
const QUOTA_NAMESPACE = "requests";
/** Quotas come from administrators: there are few different ones. */
const RULES_MAX = 1000;

type QuotaLimit = WorkspaceRecord["quota"];

export class Quota {
  readonly #limiter: Limiter;
  readonly #byDefault: QuotaLimit;
  readonly #rules = new Map<string, Rule>();

  constructor(limiter: Limiter, byDefault: QuotaLimit) {
    this.#limiter = limiter;
    this.#byDefault = byDefault;
  }

  /** Takes one request; null where there is no quota. */
  take({ id, quota }: WorkspaceRecord): Decision | Promise<Decision> | null {
    const limit = quota ?? this.#byDefault;
    return limit === null ? null : this.#ruleOf(limit).decide(id);
  }

  #ruleOf({ limit, durationMs }: NonNullable<QuotaLimit>): Rule {
    const name = `${limit}/${durationMs}`;
    let rule = this.#rules.get(name);
    if (rule === undefined) {
      if (this.#rules.size >= RULES_MAX) this.#rules.clear();
      const options = { workspace: QUOTA_WORKSPACE, namespace: QUOTA_NAMESPACE, limit, duration: durationMs };
      rule = this.#limiter.rule(options);
      this.#rules.set(name, rule);
    }
    return rule;
  }
}

export function checkQuota({ success, limit, reset }: Decision, nowMs: number): void {
  if (success) return;
  throw new Problem("quota_exceeded", `The workspace has used its quota of ${limit} requests.`, {
    retryAfterS: Math.max(1, Math.ceil((reset - nowMs) / 1000)),
  });
}
