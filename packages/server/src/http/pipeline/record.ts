/** What came of a request. */
import type { Problem } from "../../contract/problem.ts";

export interface Ending {
  readonly status: number;
  readonly tookMs: number;
  /** Why it was refused; null where it was answered. */
  readonly problem: Problem | null;
  /** What it was answered; null where it was refused. */
  readonly data: unknown;
}
