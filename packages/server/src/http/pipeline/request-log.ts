/**
 * Requests in the log: one line each, for those that were refused or for all.
 *
 * An identifier may be a person's address: it stands there as a keyed hash, unless the settings want it plain. Servers with one key
 * write the same hash for the same identifier, so that its lines can be found without its name being in any. Of a body nothing else is
 * written than what it names, and of headers only the ids that a caller gave the request.
 */
import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { PROBLEMS, type Problem, type ProblemKind } from "../../contract/problem.ts";
import type { LimitData, MultiLimitData } from "../../contract/schemas.ts";
import type { Log } from "../../log/log.ts";
import { traceParentOf } from "../../traces/trace-parent.ts";
import type { RequestContext } from "./request-context.ts";

export interface RequestLogSettings {
  readonly requests: "off" | "errors" | "all";
  readonly identifiers: "hashed" | "plain";
  /** Of the hash. */
  readonly identifierKey: string;
}

/** What came of a request. */
interface RequestResult {
  readonly status: number;
  readonly tookMs: number;
  /** Why it was refused; null if it was answered. */
  readonly problem: Problem | null;
  /** What it was answered; null if it was refused. */
  readonly data: unknown;
}

/** Of 64 hexadecimal digits: two identifiers of a million share them once in 40 million such logs. */
const HASH_DIGITS = 16;
/** What may be noted of a caller's `x-request-id`: ids, and nothing that would be read as something else. */
const CALLER_ID = /^[\w.:/+=@-]{1,128}$/;
const SERVER_ERROR = 500;
const ERROR = 400;

export class RequestLog {
  readonly #log: Log;
  readonly #settings: RequestLogSettings;

  /** Null where nothing of requests is logged. */
  static of(log: Log, settings: RequestLogSettings): RequestLog | null {
    return settings.requests === "off" ? null : new RequestLog(log, settings);
  }

  private constructor(log: Log, settings: RequestLogSettings) {
    this.#log = log;
    this.#settings = settings;
  }

  ended({ requestId, operation, span, caller, body, request }: RequestContext, result: RequestResult): void {
    const { status, tookMs, problem, data } = result;
    if (this.#settings.requests === "errors" && status < ERROR) return;
    this.#log[levelOf(status)]("request", {
      requestId,
      operation,
      status,
      tookMs: Math.round(tookMs * 1_000) / 1_000,
      ...(problem === null ? outcomeOf(data) : { problem: PROBLEMS[problem.kind].type }),
      ...(caller === null ? {} : { workspace: caller.workspace.id, key: caller.key.id }),
      ...this.#subjectOf(body),
      ...(span === null ? {} : { traceId: span.traceId }),
      ...callerIdsOf(request.headers),
    });
  }

  /** Bytes that were no request. */
  broken(requestId: string, kind: ProblemKind): void {
    const { status, type } = PROBLEMS[kind];
    this.#log[levelOf(status)]("request", { requestId, operation: "other", status, problem: type });
  }

  #subjectOf(body: unknown): object {
    if (Array.isArray(body)) return { items: body.length };
    const { namespace, identifier } = (body ?? {}) as { readonly namespace?: string; readonly identifier?: string };
    return {
      ...(namespace === undefined ? {} : { namespace }),
      ...(identifier === undefined ? {} : { identifier: this.#shown(identifier) }),
    };
  }

  #shown(identifier: string): string {
    const { identifiers, identifierKey } = this.#settings;
    if (identifiers === "plain") return identifier;
    return createHmac("sha256", identifierKey).update(identifier).digest("hex").slice(0, HASH_DIGITS);
  }
}

function levelOf(status: number): "info" | "warn" | "error" {
  if (status < ERROR) return "info";
  return status < SERVER_ERROR ? "warn" : "error";
}

/** A denial is answered with 200 as an allow is: the line says which, and why. Of a batch, the reason of the first item that failed. */
function outcomeOf(data: unknown): object {
  if (isBatch(data)) {
    const failed = data.limits.find((item) => !item.passed);
    const degraded = data.limits.some((item) => item.degraded);
    return { success: data.passed, reason: failed?.reason ?? "allowed", degraded };
  }
  const { success, reason, degraded } = data as Partial<LimitData>;
  return success === undefined ? {} : { success, reason, degraded };
}

function isBatch(data: unknown): data is MultiLimitData {
  return (data as Partial<MultiLimitData>).passed !== undefined;
}

function callerIdsOf(headers: IncomingHttpHeaders): object {
  const id = headers["x-request-id"];
  const trace = traceParentOf(headers["traceparent"]);
  return {
    ...(typeof id === "string" && CALLER_ID.test(id) ? { callerRequestId: id } : {}),
    ...(trace === null ? {} : { traceId: trace.traceId, callerSpanId: trace.spanId }),
  };
}
