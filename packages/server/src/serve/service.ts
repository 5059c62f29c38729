/** What `sluice serve` runs: one process, or a parent with workers. */
import type { Reading } from "../metrics/reading.ts";
import type { Readiness } from "./readiness.ts";

export interface Service {
  readonly port: number;
  readiness(): Promise<Readiness>;
  /** What each process that answers requests has to tell. */
  readings(): Promise<readonly Reading[]>;
  /** Sees to it that workspace `default` has a root key. The key if it was made now; null if there was one, or it was preset. */
  ensureRootKey(): Promise<string | null>;
  /** Answers what is under way, sends what is left to the stores. Stopping again gives the same report. */
  stop(): Promise<StopReport>;
}

/** What a stop could not save. */
export interface StopReport {
  /** Accepted cost that no store confirmed. */
  readonly lost: number;
  /** Connections that were cut in mid-request. */
  readonly cut: number;
  /** Workers that ended without a word: what they had is not known. */
  readonly silent: number;
}

export function sumOf(reports: readonly StopReport[]): StopReport {
  const total = (field: keyof StopReport) => reports.reduce((sum, report) => sum + report[field], 0);
  return { lost: total("lost"), cut: total("cut"), silent: total("silent") };
}

/** Nothing that was accepted is missing, and nobody was cut off. */
export function isClean({ lost, cut, silent }: StopReport): boolean {
  return lost === 0 && cut === 0 && silent === 0;
}
