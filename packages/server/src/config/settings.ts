/** What `sluice serve` runs by, with every default filled in and checked. docs/configuration.md lists the names. */
import type { ApiSettings } from "../http/api.ts";

export interface ServerSettings {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** The folder of the embedded store. */
  readonly dataDir: string;
  readonly workers: number;
  readonly region: string;
  readonly redisUrl: string | null;
  /** `mysql://`, `postgres://` or `sqlite:`; null: the embedded store alone, and no global layer. */
  readonly sqlUrl: string | null;
  /** Presets the first root key of workspace `default`. */
  readonly rootKey: string | null;
  readonly opsHost: string;
  readonly opsPort: number;
  readonly api: ApiSettings;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly cellsMax: number;
}
