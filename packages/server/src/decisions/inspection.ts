/** What a request would be decided, and from which counts. */
import type { Inspection } from "sluice";
import type { NamespaceRecord, OverrideRecord } from "../admin/records.ts";

/** A decision request, whose limit and duration may be left to an override. */
export interface InspectionRequest {
  /** Name or id. */
  readonly namespace: string;
  readonly identifier: string;
  readonly limit?: number | undefined;
  readonly duration?: number | undefined;
  /** 1 if not given. */
  readonly cost?: number | undefined;
}

export interface InspectedRequest {
  readonly namespace: NamespaceRecord;
  readonly override: OverrideRecord | undefined;
  readonly isShadow: boolean;
  readonly limit: number;
  readonly duration: number;
  readonly cost: number;
  /** Whether it would pass: because it fits, or because of a shadow. */
  readonly success: boolean;
  /** What is known of the key here. */
  readonly counts: Inspection;
}
