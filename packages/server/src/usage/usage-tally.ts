/**
 * What each namespace and each workspace was asked for in the minute that runs: plain numbers, added up on the way of every decision.
 *
 * The sums of a workspace are exact. Namespaces have a cap per minute: decisions of those beyond it are in the sum of their workspace, and in
 * `uncounted`. The counts of a minute are held for one more minute, for whoever asks which namespaces are busy now.
 *
 * It knows no clock: usage-writer.ts turns the minute. A decision costs one comparison if its namespace is that of the decision before it, and
 * one look-up in a map otherwise.
 */
import type { Decision } from "sluice";
import type { NamespaceRecord } from "../admin/records.ts";
import type { UsageSums } from "../admin/usage-row.ts";
import { isAccepted } from "../metrics/tally.ts";

/** Namespaces of one minute: about 200 bytes each, and two minutes are held. */
export const NAMESPACES_MAX = 20_000;

type Sums = { -readonly [Name in keyof UsageSums]: UsageSums[Name] };

/** What was asked for. */
export interface UsageRequest extends UsageRule {
  readonly cost: number;
}

/** A limit and its window in milliseconds. */
export interface UsageRule {
  readonly limit: number;
  readonly duration: number;
}

interface NamespaceUsage {
  readonly id: string;
  /** Null beyond the cap. */
  readonly sums: Sums | null;
  /** Of its workspace, since the start. */
  readonly workspace: Sums;
  /** Of the last check that was denied, or would have been but for a shadow. */
  rule: UsageRule | null;
}

/** One subject of a minute that is over: a namespace or a workspace. */
export interface SubjectUsage extends UsageSums {
  readonly subjectId: string;
}

export interface BusyNamespace extends UsageSums {
  readonly namespaceId: string;
  /** Of the last check that was denied; null: none was. */
  readonly rule: UsageRule | null;
}

/** What one process knows of a workspace, as a message can carry it. */
export interface WorkspaceUsage {
  /** Since the start of the process. */
  readonly totals: UsageSums;
  /** The busiest namespaces of the minute that runs and the one before it. */
  readonly namespaces: readonly BusyNamespace[];
}

export class UsageTally {
  /** By id, with their workspace: those of the minute that runs, and of the one before it. */
  #namespaces = new Map<string, NamespaceUsage & { readonly workspaceId: string }>();
  #before: ReadonlyMap<string, NamespaceUsage & { readonly workspaceId: string }> = new Map();
  /** By id, since the start. Workspaces are made by operators: there are few. */
  readonly #workspaces = new Map<string, Sums>();
  /** The sums of workspaces when the minute began. */
  #workspacesBefore: ReadonlyMap<string, UsageSums> = new Map();
  #last: NamespaceUsage | null = null;
  #size = 0;
  #uncounted = 0;

  /** One check: an item of a batch is one. */
  decided(namespace: NamespaceRecord, request: UsageRequest, decision: Decision, isShadowed: boolean): void {
    const usage = this.#last?.id === namespace.id ? this.#last : this.#usageOf(namespace);
    this.#last = usage;
    const { cost, limit, duration } = request;
    if (!decision.success) usage.rule = { limit, duration };
    add(usage.workspace, cost, decision, isShadowed);
    if (usage.sums === null) this.#uncounted++;
    else add(usage.sums, cost, decision, isShadowed);
  }

  /** Decisions since the start whose namespace was beyond the cap. */
  get uncounted(): number {
    return this.#uncounted;
  }

  /** Ends the minute: what was counted in it, of every namespace and workspace that was asked for. */
  turn(): readonly SubjectUsage[] {
    const subjects: SubjectUsage[] = [];
    for (const { id, sums } of this.#namespaces.values()) if (sums !== null) subjects.push({ subjectId: id, ...sums });
    const workspaces = new Map<string, UsageSums>();
    for (const [id, sums] of this.#workspaces) {
      const since = difference(sums, this.#workspacesBefore.get(id) ?? NOTHING);
      if (since.allowed + since.denied + since.shadowed > 0) subjects.push({ subjectId: id, ...since });
      workspaces.set(id, { ...sums });
    }
    this.#workspacesBefore = workspaces;
    this.#before = this.#namespaces;
    this.#namespaces = new Map();
    this.#last = null;
    this.#size = 0;
    return subjects;
  }

  read(workspaceId: string, namespacesMax: number): WorkspaceUsage {
    const busy: BusyNamespace[] = [];
    for (const minute of [this.#before, this.#namespaces]) {
      for (const { id: namespaceId, workspaceId: of, sums, rule } of minute.values()) {
        if (of === workspaceId && sums !== null) busy.push({ namespaceId, rule, ...sums });
      }
    }
    return {
      totals: { ...(this.#workspaces.get(workspaceId) ?? NOTHING) },
      namespaces: busiest(busy, namespacesMax),
    };
  }

  #usageOf({ id, workspaceId }: NamespaceRecord): NamespaceUsage {
    const known = this.#namespaces.get(id);
    if (known !== undefined) return known;
    let workspace = this.#workspaces.get(workspaceId);
    if (workspace === undefined) {
      workspace = { ...NOTHING };
      this.#workspaces.set(workspaceId, workspace);
    }
    if (this.#size >= NAMESPACES_MAX) return { id, sums: null, workspace, rule: null };
    const usage = { id, workspaceId, sums: { ...NOTHING }, workspace, rule: null };
    this.#namespaces.set(id, usage);
    this.#size++;
    return usage;
  }
}

/** Of all processes of a server. */
export function mergedUsage(parts: readonly WorkspaceUsage[], namespacesMax: number): WorkspaceUsage {
  return {
    totals: parts.reduce<UsageSums>((sum, { totals }) => sumOf(sum, totals), NOTHING),
    namespaces: busiest(
      parts.flatMap(({ namespaces }) => namespaces),
      namespacesMax,
    ),
  };
}

const NOTHING: UsageSums = { allowed: 0, denied: 0, shadowed: 0, degraded: 0, cost: 0 };

function add(sums: Sums, cost: number, decision: Decision, isShadowed: boolean): void {
  if (decision.degraded) sums.degraded++;
  if (isShadowed) {
    sums.shadowed++;
  } else if (isAccepted(decision)) {
    sums.allowed++;
    sums.cost += cost;
  } else {
    sums.denied++;
  }
}

function sumOf(one: UsageSums, other: UsageSums): UsageSums {
  return {
    allowed: one.allowed + other.allowed,
    denied: one.denied + other.denied,
    shadowed: one.shadowed + other.shadowed,
    degraded: one.degraded + other.degraded,
    cost: one.cost + other.cost,
  };
}

function difference(one: UsageSums, other: UsageSums): UsageSums {
  return {
    allowed: one.allowed - other.allowed,
    denied: one.denied - other.denied,
    shadowed: one.shadowed - other.shadowed,
    degraded: one.degraded - other.degraded,
    cost: one.cost - other.cost,
  };
}

/** Those with the most checks, each once: those of several minutes or processes are added up. */
function busiest(parts: readonly BusyNamespace[], max: number): readonly BusyNamespace[] {
  const sums = new Map<string, BusyNamespace>();
  for (const part of parts) {
    const known = sums.get(part.namespaceId);
    const { namespaceId, rule } = part;
    sums.set(
      namespaceId,
      known === undefined ? part : { namespaceId, rule: rule ?? known.rule, ...sumOf(known, part) },
    );
  }
  const checks = ({ allowed, denied, shadowed }: UsageSums) => allowed + denied + shadowed;
  return [...sums.values()].sort((one, other) => checks(other) - checks(one)).slice(0, max);
}
