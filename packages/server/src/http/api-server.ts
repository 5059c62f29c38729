/** The HTTP API: what it needs of the rest. */
import type { Limiter } from "sluice";
import type { AdminStore } from "../admin/admin-store.ts";
import type { Directory } from "../admin/directory.ts";
import type { HitterDesk } from "../hitters/hitter-desk.ts";
import type { Log } from "../log/log.ts";
import type { Tally } from "../metrics/tally.ts";
import type { Tracer } from "../traces/tracer.ts";
import type { OverrideCaps } from "./routes/override-caps.ts";
import type { RequestLog } from "./pipeline/request-log.ts";

export interface ApiParts {
  readonly limiter: Limiter;
  readonly directory: Directory;
  readonly store: AdminStore;
  readonly log: Log;
  /** Told of every answer; null: nobody asked for it. */
  readonly requestLog: RequestLog | null;
  /** Null: nothing is traced. */
  readonly tracer: Tracer | null;
  /** Told of every decision and answer. */
  readonly tally: Tally;
  /** Told of every decision; null where nobody is to be ranked. */
  readonly hitters: HitterDesk | null;
  readonly settings: ApiSettings;
  readonly wallMs: () => number;
}

export interface ApiSettings {
  /** Names of this server in a request's Host; null: any. */
  readonly hosts: readonly string[] | null;
  readonly bodyMaxBytes: number;
  readonly connectionsMax: number;
  /** A request must be here whole within this. */
  readonly requestTimeoutMs: number;
  /** Requests a window that a workspace may make, where it has no quota of its own; null: any number. */
  readonly quota: { readonly limit: number; readonly durationMs: number } | null;
  readonly overrideCaps: OverrideCaps;
  /** How old the directory may be while the store cannot be read; null: any age. */
  readonly adminAgeMaxMs: number | null;
  readonly tls: { readonly cert: string; readonly key: string } | null;
}
