/** What `sluice serve` runs by, with every default filled in and checked. docs/configuration.md lists the names. */
import type { BySpan } from "../admin/usage-row.ts";
import type { ApiSettings } from "../http/api-server.ts";
import type { RequestLogSettings } from "../http/pipeline/request-log.ts";
import type { TraceSettings } from "../traces/open-tracer.ts";
import type { ConvergenceSettings } from "./convergence.ts";
import type { Effective } from "./read-settings.ts";

export interface ServerSettings {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** The folder of the embedded store. */
  readonly dataDir: string;
  readonly workers: number;
  readonly region: string;
  readonly redisUrl: string | null;
  /** What to trust a `rediss:` server by, if not by what Node trusts. */
  readonly redisTls: { readonly ca: string } | null;
  /** Whether connections outlive the servers behind them. */
  readonly redisProxy: boolean;
  /** `mysql://`, `postgres://` or `sqlite:`; null: the embedded store alone, and no global layer. */
  readonly sqlUrl: string | null;
  /** Null: in the clear. */
  readonly sqlTls: { readonly ca?: string } | null;
  /** Presets the first root key of workspace `default`. */
  readonly rootKey: string | null;
  readonly opsHost: string;
  /** 0: any free one; null: the usual one, or any free one if that is taken. */
  readonly opsPort: number | null;
  readonly api: ApiSettings;
  readonly shutdownTimeoutMs: number;
  /** The part of it for replaying and publishing what is left; the rest is for requests under way. */
  readonly closeTimeoutMs: number;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly requestLog: RequestLogSettings;
  /** Null: nothing is traced. */
  readonly traces: TraceSettings | null;
  readonly cellsMax: number;
  readonly convergence: ConvergenceSettings;
  /** Living namespaces of a workspace, and as many deleted ones. */
  readonly namespacesMax: number;
  /** How long a deleted namespace can be restored. */
  readonly namespacesKeepMs: number;
  /** How long changes stay in the audit trail. */
  readonly auditKeepMs: number;
  /** Bytes of the audit trail of a workspace. */
  readonly auditBytesMax: number;
  /** How long the history of use is kept, by span, in milliseconds; null: there is none. */
  readonly usageKeepMs: BySpan | null;
  /** Every setting as it may be shown, with its source. */
  readonly shown: readonly Effective[];
  /** Namespaces whose top identifiers are kept; 0: of none. */
  readonly hittersNamespacesMax: number;
}
