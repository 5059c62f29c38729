/** One request on its way through the pipeline: what is known of it, filled in step by step. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../../access/caller.ts";
import type { RequestSpan } from "../../traces/request-span.ts";
import type { Turn } from "./connections.ts";

export interface RequestContext {
  readonly requestId: string;
  /** Of the table of routes; `other` for what is in none. */
  readonly operation: string;
  /** Monotonic clock. */
  readonly beganMs: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Told the length of the answer before it is written. */
  readonly turn: Turn;
  /** Set by the authentication. */
  caller: Caller | null;
  /** Set after the authentication; null: it is not traced. */
  span: RequestSpan | null;
  /** Set when it was read and checked. */
  body: unknown;
}
