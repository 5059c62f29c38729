/**
 * The span of one request, and those of its reads of the origin: a decision that comes as a promise has waited for one.
 *
 * What it says is bounded and is nobody's name: no identifier, no key, no body.
 */
import type { BatchDecision, Decision } from "sluice";
import type { Span } from "./span.ts";

/** What came of a request. */
export interface SpanEnd {
  readonly method: string;
  readonly namespace: string | undefined;
  readonly status: number;
  /** The type of the problem that it was refused with; null where it was answered. */
  readonly problem: string | null;
  /** What it was answered. */
  readonly data: unknown;
}

export interface SpanBegin {
  readonly operation: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  /** Both clocks when it began. */
  readonly wallMs: number;
  readonly beganMs: number;
  readonly newSpanId: () => string;
  readonly report: (span: Span) => void;
}

const SERVER_ERROR = 500;

export class RequestSpan {
  readonly #begin: SpanBegin;
  /** What the decision rested on; undefined where nothing was decided. */
  #source: Decision["source"] | undefined;
  #isDegraded = false;

  constructor(begin: SpanBegin) {
    this.#begin = begin;
  }

  get traceId(): string {
    return this.#begin.traceId;
  }

  /** Notes what the limiter's answer rests on, now or when it is here. */
  watch<Answer extends Decision | BatchDecision>(answer: Answer | Promise<Answer>): Answer | Promise<Answer> {
    return answer instanceof Promise ? this.waited(answer).then((late) => this.#noted(late)) : this.#noted(answer);
  }

  /** An answer of the limiter that comes later has read the origin first: a span of its own. Called when it was just asked. */
  async waited<Answer extends Decision | BatchDecision>(answer: Promise<Answer>): Promise<Answer> {
    const beganMs = performance.now();
    const late = await answer;
    const { spanId: parentSpanId, newSpanId } = this.#begin;
    const own = { spanId: newSpanId(), parentSpanId, isError: false };
    const attributes = { "sluice.degraded": decisionsOf(late).some(({ degraded }) => degraded) };
    this.#report("origin.read", "internal", beganMs, attributes, own);
    return late;
  }

  end({ method, namespace, status, problem, data }: SpanEnd): void {
    const { operation, parentSpanId, spanId } = this.#begin;
    const isError = status >= SERVER_ERROR;
    const attributes = {
      "http.request.method": method,
      "http.response.status_code": status,
      "http.route": `/v2/${operation}`,
      "url.path": `/v2/${operation}`,
      ...(namespace === undefined ? {} : { "sluice.namespace": namespace }),
      ...(problem === null ? outcomeOf(data) : { "sluice.problem": problem }),
      ...(this.#source === undefined ? {} : { "sluice.source": this.#source, "sluice.degraded": this.#isDegraded }),
      ...(isError ? { "error.type": String(status) } : {}),
    };
    this.#report(operation, "server", this.#begin.beganMs, attributes, { spanId, parentSpanId, isError });
  }

  #noted<Answer extends Decision | BatchDecision>(answer: Answer): Answer {
    for (const { source, degraded } of decisionsOf(answer)) {
      if (this.#source !== "origin") this.#source = source;
      this.#isDegraded ||= degraded;
    }
    return answer;
  }

  #report(
    name: string,
    kind: Span["kind"],
    beganMs: number,
    attributes: Span["attributes"],
    own: Pick<Span, "spanId" | "parentSpanId" | "isError">,
  ): void {
    const { traceId, wallMs, report } = this.#begin;
    const nowMs = performance.now();
    report({
      ...own,
      traceId,
      name,
      kind,
      beganMs: wallMs + (beganMs - this.#begin.beganMs),
      tookMs: nowMs - beganMs,
      attributes,
    });
  }
}

function decisionsOf(answer: Decision | BatchDecision): readonly Decision[] {
  return "decisions" in answer ? answer.decisions : [answer];
}

function outcomeOf(data: unknown): Span["attributes"] {
  const { success, passed, shadowed } = (data ?? {}) as {
    readonly success?: boolean;
    readonly passed?: boolean;
    readonly shadowed?: boolean;
  };
  const isAllowed = success ?? passed;
  if (isAllowed === undefined) return {};
  return { "sluice.outcome": shadowed === true ? "shadowed" : isAllowed ? "allowed" : "denied" };
}
