/** One request that is being answered, and what is known of it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../../access/caller.ts";
import type { RequestSpan } from "../../traces/request-span.ts";
import type { Turn } from "./connections.ts";

export interface Exchange {
  readonly requestId: string;
  /** Of the table of routes; `other` for what is in none. */
  readonly operation: string;
  /** Monotonic clock. */
  readonly beganMs: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Told the length of the answer before it is written. */
  readonly turn: Turn;
  /** Known once the key is; null: it is not traced. */
  span: RequestSpan | null;
  /** Known once the key is. */
  caller: Caller | null;
  /** Known once it was checked. */
  body: unknown;
}
