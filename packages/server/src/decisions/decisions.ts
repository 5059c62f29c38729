/**
 * `limit` and `multiLimit`: finds the namespace and the override, asks the limiter, and tells its answer in the words of the API.
 *
 * Invariant: whatever can refuse a request is asked before anything is counted or created.
 *
 * A shadow counts and reports, and never denies. In a batch it stands apart: it neither makes the others fail nor is it counted if
 * they do.
 */
import type { BatchDecision, Decision, LimitRequest } from "sluice";
import type { NamespaceRecord, OverrideRecord } from "../admin/records.ts";
import { Problem } from "../contract/problem.ts";
import type { LimitBody, LimitData, MultiLimitBody, MultiLimitData } from "../contract/schemas.ts";
import type { HitterDesk } from "../hitters/hitter-desk.ts";
import type { Tally } from "../metrics/tally.ts";
import type { Decider } from "../traces/request-span.ts";
import type { Caller } from "../access/caller.ts";
import { type AdminParts, type Answer, checkNewName, checkWellFormed, creatorOf } from "../access/actor.ts";
import { lacking, may } from "../access/permission.ts";
import type { CheckedLimit } from "../http/rate-headers.ts";

/** What is asked, after overrides. */
interface Asked {
  readonly body: LimitBody;
  readonly namespace: NamespaceRecord;
  readonly request: LimitRequest & { readonly duration: number; readonly cost: number };
  readonly override: OverrideRecord | undefined;
  readonly isShadow: boolean;
}

/** What both routes need. */
export interface LimitParts extends AdminParts {
  readonly limiter: Decider;
  readonly tally: Tally;
  readonly hitters: HitterDesk | null;
}

export function limit(parts: LimitParts, caller: Caller, body: LimitBody): Answer | Promise<Answer> {
  const namespace = limitedNamespace(parts, caller, body, "body");
  return namespace instanceof Promise
    ? namespace.then((made) => limitIn(parts, made, body))
    : limitIn(parts, namespace, body);
}

function limitIn(parts: LimitParts, namespace: NamespaceRecord, body: LimitBody): Answer | Promise<Answer> {
  const asked = askedOf(parts, namespace, body);
  const decision = parts.limiter.decide(asked.request);
  return decision instanceof Promise
    ? decision.then((one) => limitAnswer(parts, asked, one))
    : limitAnswer(parts, asked, decision);
}

interface Seen {
  readonly isShadowed: boolean;
  /** On the clock of those who rank. */
  readonly nowMs: number;
}

/** Counts one check where somebody may look. */
function note({ tally, hitters }: LimitParts, asked: Asked, decision: Decision, seen: Seen): void {
  const { namespace, request } = asked;
  tally.decided(namespace, decision, seen.isShadowed);
  hitters?.decided(namespace.id, request, decision, seen.nowMs);
}

function limitAnswer(parts: LimitParts, asked: Asked, decision: Decision): Answer {
  const { success, limit: max, remaining, reset, reason, degraded } = decision;
  const isShadowed = asked.isShadow && !success;
  note(parts, asked, decision, { isShadowed, nowMs: parts.hitters?.nowMs() ?? 0 });
  const data: LimitData = { success: success || isShadowed, limit: max, remaining, reset, reason, degraded };
  if (asked.override !== undefined) data.overrideId = asked.override.id;
  if (isShadowed) data.shadowed = true;
  return { data, checked: checkedOf(asked, data) };
}

/** As JSON.stringify would, in a third of its time: numbers, flags, and an id and a reason that need no escaping. */
export function limitText(data: LimitData): string {
  const { success, limit: max, remaining, reset, reason, degraded, overrideId, shadowed } = data;
  const numbers = `"limit":${max},"remaining":${remaining},"reset":${reset}`;
  const override = overrideId === undefined ? "" : `,"overrideId":"${overrideId}"`;
  const shadow = shadowed === undefined ? "" : `,"shadowed":${shadowed}`;
  return `{"success":${success},${numbers},"reason":"${reason}","degraded":${degraded}${override}${shadow}}`;
}

export function multiLimit(parts: LimitParts, caller: Caller, body: MultiLimitBody): Answer | Promise<Answer> {
  // All are looked at before the first namespace is made.
  const missing = new Set<string>();
  body.forEach((one, at) => {
    if (isToBeCreated(parts, caller, one, `body[${at}]`)) missing.add(one.namespace);
  });
  return missing.size === 0 ? multiLimitIn(parts, caller, body) : createAndLimit(parts, caller, body, missing);
}

async function createAndLimit(
  parts: LimitParts,
  caller: Caller,
  body: MultiLimitBody,
  missing: ReadonlySet<string>,
): Promise<Answer> {
  const made = new Map<string, NamespaceRecord>();
  for (const name of missing) made.set(name, await createNamespace(parts, caller, name));
  // Meanwhile one of the others may have been deleted.
  body.forEach((one, at) => {
    if (made.has(one.namespace) || !isToBeCreated(parts, caller, one, `body[${at}]`)) return;
    throw new Problem("unavailable", "A namespace of this batch has just changed. Try again.", { retryAfterS: 1 });
  });
  return multiLimitIn(parts, caller, body, made);
}

function multiLimitIn(
  parts: LimitParts,
  { workspace }: Caller,
  body: MultiLimitBody,
  made?: ReadonlyMap<string, NamespaceRecord>,
): Answer | Promise<Answer> {
  const asked = body.map((one) => {
    const namespace = made?.get(one.namespace) ?? parts.directory.namespaceOf(workspace.id, one.namespace);
    return askedOf(parts, namespace!, one);
  });
  if (asked.some(({ isShadow }) => isShadow)) return limitWithShadows(parts, asked);
  const batch = parts.limiter.decideMany(asked.map(({ request }) => request));
  return batch instanceof Promise
    ? batch.then((one) => batchAnswer(parts, asked, one))
    : batchAnswer(parts, asked, batch);
}

async function limitWithShadows(parts: LimitParts, asked: readonly Asked[]): Promise<Answer> {
  const enforced = asked.filter(({ isShadow }) => !isShadow);
  const batch: BatchDecision =
    enforced.length === 0
      ? { success: true, decisions: [] }
      : await parts.limiter.decideMany(enforced.map(({ request }) => request));
  const left = batch.decisions[Symbol.iterator]();
  const decisions: Decision[] = [];
  for (const { isShadow, request } of asked) {
    if (!isShadow) decisions.push(left.next().value!);
    // A shadow is counted with the others or not at all.
    else decisions.push(batch.success ? await parts.limiter.decide(request) : await uncounted(parts, request));
  }
  return batchAnswer(parts, asked, { success: batch.success, decisions });
}

/** What an item of a batch that failed is told: whether it fits by itself, and what it would have with nothing spent. */
async function uncounted({ limiter }: LimitParts, request: LimitRequest): Promise<Decision> {
  const peek = await limiter.decide({ ...request, cost: 0 });
  const fits = peek.success && peek.remaining >= (request.cost ?? 1);
  return { ...peek, success: fits, reason: fits ? "batch" : "limit" };
}

function batchAnswer(
  parts: LimitParts,
  asked: readonly Asked[],
  { success: passed, decisions }: BatchDecision,
): Answer {
  const nowMs = parts.hitters?.nowMs() ?? 0;
  const items = asked.map((one, at) => {
    const decision = decisions[at]!;
    const { success, limit: max, remaining, reset, reason, degraded } = decision;
    const isShadowed = one.isShadow && !success;
    note(parts, one, decision, { isShadowed, nowMs });
    const item: MultiLimitData["limits"][number] = {
      namespace: one.body.namespace,
      identifier: one.body.identifier,
      limit: max,
      remaining,
      reset,
      passed: success || isShadowed,
      reason,
      degraded,
    };
    if (one.override !== undefined) item.overrideId = one.override.id;
    if (isShadowed) item.shadowed = true;
    return item;
  });
  // The headers tell about one limit: of the first item that failed, else of the one with the least left.
  let told = items.findIndex((item) => !item.passed);
  if (told === -1) told = items.reduce((low, item, at) => (item.remaining < items[low]!.remaining ? at : low), 0);
  const item = items[told]!;
  return {
    data: { passed, limits: items },
    checked: checkedOf(asked[told]!, { ...item, success: passed || item.passed }),
  };
}

function checkedOf({ request, override }: Asked, { limit: max, remaining, reset, success }: LimitData): CheckedLimit {
  const policy = override === undefined ? request.namespace : override.id;
  return { policy, limit: max, durationMs: request.duration, remaining, reset, success };
}

function askedOf({ directory }: LimitParts, namespace: NamespaceRecord, body: LimitBody): Asked {
  const override = directory.overrideFor(namespace.id, body.identifier);
  return {
    body,
    namespace,
    override,
    isShadow: namespace.isShadow || override?.isShadow === true,
    request: {
      workspace: namespace.workspaceId,
      namespace: namespace.id,
      identifier: body.identifier,
      limit: override === undefined ? body.limit : override.limit,
      duration: override === undefined ? body.duration : override.durationMs,
      cost: body.cost ?? 1,
    },
  };
}

/** The namespace to count in; made if it is missing and the key may make it. */
function limitedNamespace(
  parts: LimitParts,
  caller: Caller,
  body: LimitBody,
  at: string,
): NamespaceRecord | Promise<NamespaceRecord> {
  if (!isToBeCreated(parts, caller, body, at)) {
    return parts.directory.namespaceOf(caller.workspace.id, body.namespace)!;
  }
  return createNamespace(parts, caller, body.namespace);
}

/** @throws Problem where the key may not limit, or the namespace is gone, or it is missing and the key may not make it. */
function isToBeCreated({ directory }: LimitParts, { key, workspace }: Caller, body: LimitBody, at: string): boolean {
  const namespace = directory.namespaceOf(workspace.id, body.namespace);
  if (!may(key, "limit", namespace?.id)) throw lacking("limit");
  if (!body.identifier.isWellFormed()) checkWellFormed(`${at}.identifier`, body.identifier);
  if (namespace === undefined) {
    if (!may(key, "create_namespace", undefined)) throw lacking("create_namespace");
    checkNewName(`${at}.namespace`, body.namespace);
    return true;
  }
  if (namespace.deletedAtMs !== null) throw namespaceGone();
  return false;
}

function namespaceGone(): Problem {
  return new Problem(
    "namespace_gone",
    "This namespace was deleted. It can be restored, or its name used for a new one.",
  );
}

async function createNamespace(
  { directory, store, quota }: LimitParts,
  caller: Caller,
  name: string,
): Promise<NamespaceRecord> {
  const { workspace } = caller;
  const made = await store.createNamespace(workspace.id, name, creatorOf(quota, caller), "traffic");
  if (made.deletedAtMs !== null) throw namespaceGone();
  // What is in the store is right, whether or not this server has it in memory yet.
  await directory.refresh().catch(() => {});
  return directory.namespaceOf(workspace.id, made.id) ?? made;
}
