/** A route of the API: its schemas, the problems that it may meet, and what handles it. */
import type { Static, TSchema } from "typebox";
import type { Caller } from "../../access/caller.ts";
import type { RouteAction } from "../../access/permission.ts";
import type { Charge } from "../../access/quota.ts";
import type { AdminStore } from "../../admin/admin-store.ts";
import type { Directory } from "../../admin/directory.ts";
import type { ProblemKind } from "../../contract/problem.ts";
import type { Decisions } from "../../decisions/decisions.ts";
import type { LiveDesk, LiveSink } from "../../live/live-desk.ts";
import type { Environment } from "../../system/system.ts";
import type { TopIdentifierDesk } from "../../top-identifiers/top-identifier-desk.ts";
import type { RequestSpan } from "../../traces/request-span.ts";
import type { OverrideCaps } from "./override-caps.ts";
import type { CheckedLimit } from "./rate-headers.ts";
import type { Turnstile } from "./turnstile.ts";
import { type BodyCheck, bodyCheck } from "./validation.ts";

/** What the routes work on. */
export interface RouteParts {
  readonly decisions: Decisions;
  readonly directory: Directory;
  readonly store: AdminStore;
  /** For work that costs more than the request's one unit; charged before the work is done. */
  readonly quota: Charge;
  /** Null where nobody is to be ranked. */
  readonly topIdentifiers: TopIdentifierDesk | null;
  /** Reads of the audit trail, and rankings: one at a time. */
  readonly turnstiles: { readonly audit: Turnstile; readonly rankings: Turnstile };
  readonly overrideCaps: OverrideCaps;
  readonly live: LiveDesk;
  readonly server: ServerFacts;
  /** Keys are made of its randomness. */
  readonly environment: Environment;
  readonly wallMs: () => number;
}

/** What `server.*` shows of the server that does not change. */
export interface ServerFacts {
  readonly version: string;
  readonly region: string;
  readonly settings: readonly { readonly path: string; readonly shown: string; readonly source: string }[];
}

export interface Answer<Data = unknown> {
  readonly data: Data;
  /** Sent instead of the data. */
  readonly raw?: { readonly type: string; readonly text: string };
  /** Called with the open response, instead of an answer that ends it: server-sent events. */
  readonly stream?: (sink: LiveSink) => void;
  readonly pagination?: { readonly hasMore: boolean; readonly cursor?: string };
  /** The limit that the answer's headers are about. */
  readonly checked?: CheckedLimit;
}

/** One line of the table of routes. */
interface RouteLine<Body extends TSchema, Data extends TSchema> {
  /** After `/v2/`. */
  readonly operation: string;
  readonly summary: string;
  /** Required for the namespace that the body names, for the keys of the workspace, or for the whole server. */
  readonly action: RouteAction;
  readonly body: Body;
  readonly data: Data;
  readonly isList?: true;
  /** Whether `data` is what each event of a stream has. */
  readonly isStream?: true;
  /** Beyond those that every route may meet. */
  readonly problems: readonly ProblemKind[];
  /** The answer's data as JSON, where the general way would take too long. */
  readonly write?: (data: Static<Data>) => string;
  readonly handle: (
    parts: RouteParts,
    caller: Caller,
    body: Static<Body>,
    span: RequestSpan | null,
  ) => Answer<Static<Data>> | Promise<Answer<Static<Data>>>;
}

/** A route for those who do not know its body: they call `check` first, then `handle`, then `write`. */
export interface Route {
  readonly operation: string;
  readonly summary: string;
  readonly action: RouteAction;
  readonly body: TSchema;
  readonly data: TSchema;
  readonly isList: boolean;
  readonly isStream: boolean;
  readonly problems: readonly ProblemKind[];
  readonly check: BodyCheck;
  readonly handle: (
    parts: RouteParts,
    caller: Caller,
    body: unknown,
    span: RequestSpan | null,
  ) => Answer | Promise<Answer>;
  readonly write: ((data: unknown) => string) | undefined;
}

/** Holds the handler of a route to its two schemas. */
export function route<Body extends TSchema, Data extends TSchema>(line: RouteLine<Body, Data>): Route {
  const { handle, write, isList = false, isStream = false, ...rest } = line;
  return {
    ...rest,
    isList,
    isStream,
    check: bodyCheck(line.body),
    // The one place where the types of a body and of its data are dropped: `check` has held the body to its schema by then.
    handle: handle as Route["handle"],
    write: write as Route["write"],
  };
}
