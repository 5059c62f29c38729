/** The answers of the API, as far as the page reads them. docs/http-api.md describes them. */

export interface Sums {
  readonly allowed: number;
  readonly denied: number;
  readonly shadowed: number;
  readonly degraded: number;
  readonly cost: number;
}

export interface Layer {
  readonly status: "ok" | "degraded" | "away" | "absent";
  readonly reason?: string;
}

export interface ServerState {
  readonly ready: boolean;
  readonly processes: number;
  readonly startedAt: number;
  readonly layers: { readonly admin: Layer; readonly region: Layer; readonly global: Layer };
  readonly latency: readonly { readonly atMostS?: number; readonly count: number }[];
  readonly connections: number;
  readonly residentBytes: number;
  readonly cells: { readonly live: number; readonly max: number };
  readonly adminAgeMs: number;
  readonly origin: {
    readonly breaker: "closed" | "open" | "probing";
    readonly unreplayed: number;
    readonly oldestUnreplayedMs: number;
    readonly failed: number;
  } | null;
  readonly global: {
    readonly publishAgeMs: number;
    readonly importAgeMs: number;
    readonly unpublished: number;
    readonly regionsLive: number;
  } | null;
}

export interface BusyNamespace extends Sums {
  readonly namespaceId: string;
  readonly name: string;
  readonly rule?: Rule;
}

export interface Rule {
  readonly limit: number;
  readonly duration: number;
}

export interface Snapshot {
  readonly at: number;
  readonly totals: Sums;
  readonly namespaces: readonly BusyNamespace[];
  readonly server?: ServerState;
}

export interface ServerStatus extends ServerState {
  readonly version: string;
  readonly node: string;
  readonly region: string;
}

export interface Me {
  readonly keyId: string;
  readonly name: string;
  readonly start: string;
  readonly permissions: readonly string[];
  readonly workspace: { readonly id: string; readonly name: string };
  readonly expiresAt?: number;
}

export interface Namespace {
  readonly namespaceId: string;
  readonly name: string;
  readonly shadow: boolean;
  readonly createdAt: number;
  readonly deletedAt?: number;
}

export interface Override extends Rule {
  readonly overrideId: string;
  readonly identifier: string;
  readonly shadow: boolean;
}

export interface Bucket extends Sums {
  readonly at: number;
}

export interface Usage {
  readonly from: number;
  readonly to: number;
  readonly buckets: readonly Bucket[];
}

export interface TopIdentifiers {
  readonly namespaceId: string;
  readonly from: number;
  readonly total: number;
  readonly errorMax: number;
  readonly complete: boolean;
  readonly identifiers: readonly { readonly identifier: string; readonly atLeast: number; readonly atMost: number }[];
}

interface Cell {
  readonly startMs: number;
  readonly endMs: number;
  readonly own: number;
  readonly others: number;
  readonly foreign: number;
  readonly view: number;
}

export interface Inspection {
  readonly namespaceId: string;
  readonly identifier: string;
  readonly rule: Rule & { readonly source: "request" | "override"; readonly shadow: boolean };
  readonly override: Override | null;
  readonly decision: { readonly success: boolean; readonly remaining: number; readonly explanation: string };
  readonly current: Cell;
  readonly previous: Cell;
  readonly weight: number;
  readonly leftMs: number;
  readonly previousShare: number;
  readonly effective: number;
  readonly isKnown: boolean;
  readonly strictForMs: number;
}

export interface Change {
  readonly revision: number;
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

export interface ManagedKey {
  readonly keyId: string;
  readonly name: string;
  readonly start: string;
  readonly permissions: readonly string[];
  readonly state: "active" | "disabled" | "expired";
  readonly preset: boolean;
  readonly createdAt: number;
  readonly expiresAt?: number;
}

export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly source: string;
}
