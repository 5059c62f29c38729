/** A request for a decision: as a caller makes it, as it is resolved, and as it was decided. */
import type { Charge, Decision, LimitRequest } from "sluice";
import type { Directory } from "../admin/directory.ts";
import type { NamespaceRecord, OverrideRecord } from "../admin/records.ts";

export interface DecisionRequest {
  /** Name or id. */
  readonly namespace: string;
  readonly identifier: string;
  readonly limit: number;
  readonly duration: number;
  /** 1 if not given. */
  readonly cost?: number | undefined;
}

/** A request whose namespace is known, with its override applied. */
export interface ResolvedRequest {
  /** As the caller made it. */
  readonly original: DecisionRequest;
  readonly namespace: NamespaceRecord;
  readonly override: OverrideRecord | undefined;
  /** Its namespace or its override counts and reports, and never denies. */
  readonly isShadow: boolean;
  /** For the limiter. */
  readonly request: LimitRequest & { readonly duration: number; readonly cost: number };
}

export interface DecidedRequest {
  readonly resolved: ResolvedRequest;
  /** The limiter's. */
  readonly decision: Decision;
  /** The limiter denied it, and a shadow lets it pass. */
  readonly isShadowed: boolean;
}

export interface ChargedRequest extends DecidedRequest {
  readonly decision: Charge;
}

export interface DecidedBatch {
  /** Whether all fit and were counted; otherwise none was. */
  readonly success: boolean;
  readonly items: readonly DecidedRequest[];
}

export function resolve(directory: Directory, namespace: NamespaceRecord, original: DecisionRequest): ResolvedRequest {
  const override = directory.overrideFor(namespace.id, original.identifier);
  return {
    original,
    namespace,
    override,
    isShadow: namespace.isShadow || override?.isShadow === true,
    request: {
      workspace: namespace.workspaceId,
      namespace: namespace.id,
      identifier: original.identifier,
      limit: override === undefined ? original.limit : override.limit,
      duration: override === undefined ? original.duration : override.durationMs,
      cost: original.cost ?? 1,
    },
  };
}
