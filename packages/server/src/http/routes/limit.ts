/** `limit`, `charge` and `multiLimit`: what the decision service decided, in the words of the API. */
import type { Caller } from "../../access/caller.ts";
import type {
  ChargeBody,
  ChargeData,
  LimitBody,
  LimitData,
  MultiLimitBody,
  MultiLimitData,
} from "../../contract/schemas.ts";
import type { ChargedRequest, DecidedBatch, DecidedRequest } from "../../decisions/decision-request.ts";
import type { RequestSpan } from "../../traces/request-span.ts";
import type { CheckedLimit } from "./rate-headers.ts";
import type { Answer, RouteParts } from "./route.ts";

export function limit(
  { decisions }: RouteParts,
  caller: Caller,
  body: LimitBody,
  span: RequestSpan | null,
): Answer<LimitData> | Promise<Answer<LimitData>> {
  const decided = decisions.decide(caller, body, span);
  return decided instanceof Promise ? decided.then(limitAnswer) : limitAnswer(decided);
}

function limitAnswer(decided: DecidedRequest): Answer<LimitData> {
  const { resolved, decision, isShadowed } = decided;
  const { success, limit: max, remaining, reset, reason, degraded } = decision;
  const data: LimitData = { success: success || isShadowed, limit: max, remaining, reset, reason, degraded };
  if (resolved.override !== undefined) data.overrideId = resolved.override.id;
  if (isShadowed) data.shadowed = true;
  return { data, checked: checkedOf(decided, data.success) };
}

/** As JSON.stringify would, in a third of its time: numbers, flags, and an id and a reason that need no escaping. */
export function limitText(data: LimitData): string {
  const { success, limit: max, remaining, reset, reason, degraded, overrideId, shadowed } = data;
  const numbers = `"limit":${max},"remaining":${remaining},"reset":${reset}`;
  const override = overrideId === undefined ? "" : `,"overrideId":"${overrideId}"`;
  const shadow = shadowed === undefined ? "" : `,"shadowed":${shadowed}`;
  return `{"success":${success},${numbers},"reason":"${reason}","degraded":${degraded}${override}${shadow}}`;
}

export function charge(
  { decisions }: RouteParts,
  caller: Caller,
  body: ChargeBody,
  span: RequestSpan | null,
): Answer<ChargeData> | Promise<Answer<ChargeData>> {
  const charged = decisions.charge(caller, body, span);
  return charged instanceof Promise ? charged.then(chargeAnswer) : chargeAnswer(charged);
}

function chargeAnswer(charged: ChargedRequest): Answer<ChargeData> {
  const { resolved, decision, isShadowed } = charged;
  const { limit: max, current, remaining, over, reset, reason, degraded } = decision;
  const success = decision.success || isShadowed;
  const data: ChargeData = { success, limit: max, current, remaining, over, reset, reason, degraded };
  if (resolved.override !== undefined) data.overrideId = resolved.override.id;
  if (isShadowed) data.shadowed = true;
  return { data, checked: checkedOf(charged, success) };
}

export function multiLimit(
  { decisions }: RouteParts,
  caller: Caller,
  body: MultiLimitBody,
  span: RequestSpan | null,
): Answer<MultiLimitData> | Promise<Answer<MultiLimitData>> {
  const decided = decisions.decideMany(caller, body, span);
  return decided instanceof Promise ? decided.then(batchAnswer) : batchAnswer(decided);
}

function batchAnswer({ success: passed, items }: DecidedBatch): Answer<MultiLimitData> {
  const limits = items.map(itemOf);
  // The headers describe one limit: that of the first item that failed, otherwise of the item with the least left.
  let shownAt = limits.findIndex((item) => !item.passed);
  if (shownAt === -1)
    shownAt = limits.reduce((low, item, at) => (item.remaining < limits[low]!.remaining ? at : low), 0);
  return { data: { passed, limits }, checked: checkedOf(items[shownAt]!, passed || limits[shownAt]!.passed) };
}

function itemOf({ resolved, decision, isShadowed }: DecidedRequest): MultiLimitData["limits"][number] {
  const { success, limit: max, remaining, reset, reason, degraded } = decision;
  const item: MultiLimitData["limits"][number] = {
    namespace: resolved.original.namespace,
    identifier: resolved.original.identifier,
    limit: max,
    remaining,
    reset,
    passed: success || isShadowed,
    reason,
    degraded,
  };
  if (resolved.override !== undefined) item.overrideId = resolved.override.id;
  if (isShadowed) item.shadowed = true;
  return item;
}

function checkedOf({ resolved, decision }: DecidedRequest, success: boolean): CheckedLimit {
  const { request, override } = resolved;
  const { limit: max, remaining, reset } = decision;
  const policy = override === undefined ? request.namespace : override.id;
  return { policy, limit: max, durationMs: request.duration, remaining, reset, success };
}
