/** One request that is being answered: what is known of it, and what came of it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "./authentication.ts";
import type { Problem } from "./problem.ts";

export interface Exchange {
  readonly requestId: string;
  /** Of the table of routes; `other` for what is in none. */
  readonly operation: string;
  /** Monotonic clock. */
  readonly beganMs: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Known once the key is. */
  caller: Caller | null;
  /** Known once it was checked. */
  body: unknown;
}

export interface Ending {
  readonly status: number;
  readonly tookMs: number;
  /** Why it was refused; null where it was answered. */
  readonly problem: Problem | null;
  /** What it was answered; null where it was refused. */
  readonly data: unknown;
}
