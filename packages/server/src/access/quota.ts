/**
 * The quota of a workspace: how many units its keys may use together, counted by Sluice itself like any other limit.
 *
 * Every request costs one unit when it arrives. Requests that do more work cost more, and pay before they do it: a route calls `charge`, for a
 * read `chargeRead` (docs/http-api.md lists the prices). What was charged is never returned.
 */
import type { Decision, Limiter, Rule } from "sluice";
import type { WorkspaceRecord } from "../admin/records.ts";
import { Refusal } from "./refusal.ts";

/** No workspace has this id, so no customer's counts are near. */
const QUOTA_WORKSPACE = "$sluice";
const QUOTA_NAMESPACE = "requests";
/** Quotas come from administrators: there are few different ones. */
const RULES_MAX = 1000;

/** What every request costs when it arrives. */
export const ARRIVAL_COST = 1;

/** What reads cost, about in proportion to their time: a `limit` takes about as long as each of these. */
export const ITEMS_PER_UNIT = 100;
export const CHANGES_PER_UNIT = 10;
export const ROWS_PER_UNIT = 50;
export const RANKING_UNITS = 20;

type QuotaLimit = WorkspaceRecord["quota"];

/** What a route needs of the quota. */
export type Charge = Pick<Quota, "charge" | "chargeRead" | "tryCharge">;

export class Quota {
  readonly #limiter: Limiter;
  readonly #byDefault: QuotaLimit;
  readonly #wallMs: () => number;
  readonly #rules = new Map<string, Rule>();

  constructor(limiter: Limiter, byDefault: QuotaLimit, wallMs: () => number) {
    this.#limiter = limiter;
    this.#byDefault = byDefault;
    this.#wallMs = wallMs;
  }

  /** Takes this many units, or none if they do not fit; null if there is no quota. */
  take(workspace: WorkspaceRecord, cost: number): Decision | Promise<Decision> | null {
    const limit = this.#limitOf(workspace);
    return limit === null ? null : this.#ruleOf(limit).decide(workspace.id, { cost });
  }

  /**
   * Takes this many more units from a request that has paid `paid`.
   * @throws Refusal (or rejects with it) if they do not fit: now, or ever, because the whole quota is smaller.
   */
  charge(workspace: WorkspaceRecord, cost: number, paid = ARRIVAL_COST): undefined | Promise<undefined> {
    if (cost === 0) return undefined;
    const whole = this.#limitOf(workspace)?.limit;
    if (whole !== undefined && cost + paid > whole) throw neverFits(cost + paid, whole);
    const taken = this.take(workspace, cost);
    if (taken instanceof Promise) return taken.then((decision) => this.check(decision));
    return taken === null ? undefined : this.check(taken);
  }

  /** Charges a read: at most what is left of a whole quota after a request has arrived, so that a small one makes none impossible. */
  async chargeRead(workspace: WorkspaceRecord, cost: number): Promise<void> {
    await this.charge(workspace, this.#affordable(workspace, cost));
  }

  /** The same, for a further part of a read that can end here: false if it does not fit now. */
  async tryCharge(workspace: WorkspaceRecord, cost: number): Promise<boolean> {
    const taken = await this.take(workspace, this.#affordable(workspace, cost));
    return taken === null || taken.success;
  }

  /** @throws Refusal if it was not taken. */
  check({ success, limit, reset }: Decision): undefined {
    if (success) return undefined;
    throw new Refusal("quota_exceeded", `The workspace has used its quota of ${limit} units.`, {
      retryAfterS: Math.max(1, Math.ceil((reset - this.#wallMs()) / 1000)),
    });
  }

  #affordable(workspace: WorkspaceRecord, cost: number): number {
    const whole = this.#limitOf(workspace)?.limit;
    return whole === undefined ? cost : Math.min(cost, whole - ARRIVAL_COST);
  }

  #limitOf({ quota }: WorkspaceRecord): QuotaLimit {
    return quota ?? this.#byDefault;
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

function neverFits(cost: number, whole: number): Refusal {
  const detail = `This request costs ${cost} units, and the workspace's quota is ${whole}: it can never succeed.`;
  return new Refusal(
    "cost_above_quota",
    `${detail} Send smaller requests, or ask an administrator to raise the quota.`,
  );
}
