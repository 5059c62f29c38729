/**
 * The decision service: every listener asks it, HTTP now. No protocol is in it.
 *
 * The steps of a decision: authorise (may this key limit or charge here?), resolve (namespace created if it is missing, override applied, shadow or
 * not), ask the limiter, record (metrics, top identifiers, span). A decision from memory takes all of them without a promise.
 *
 * Invariant: everything that can refuse a request comes before anything is counted. A batch creates its missing namespaces one by one, so one
 * that is refused in the middle (quota, namespacesMax) leaves those before it.
 *
 * A shadow counts and reports, and never denies. In a batch it stands apart: it neither makes the others fail nor is it counted if they do.
 *
 * The listener has authenticated the caller, and taken what a request costs of the quota when it arrives. What a batch costs beyond that is
 * charged here.
 */
import type { BatchDecision, Charge as Charged, Decision, Limiter, LimitRequest } from "sluice";
import { creatorOf } from "../access/actor.ts";
import type { Caller } from "../access/caller.ts";
import { checkWellFormed, namespaceFor } from "../access/names.ts";
import type { Charge } from "../access/quota.ts";
import { Refusal } from "../access/refusal.ts";
import type { AdminStore } from "../admin/admin-store.ts";
import type { Directory } from "../admin/directory.ts";
import type { NamespaceRecord } from "../admin/records.ts";
import type { Tally } from "../metrics/tally.ts";
import type { TopIdentifierDesk } from "../top-identifiers/top-identifier-desk.ts";
import type { RequestSpan } from "../traces/request-span.ts";
import type { UsageTally } from "../usage/usage-tally.ts";
import { authorise, namespaceGone } from "./authorisation.ts";
import {
  type ChargedRequest,
  type DecidedBatch,
  type DecidedRequest,
  type DecisionRequest,
  type ResolvedRequest,
  resolve,
} from "./decision-request.ts";
import type { InspectedRequest, InspectionRequest } from "./inspection.ts";

/** What the service needs of a limiter. */
export type Decider = Pick<Limiter, "decide" | "decideMany" | "charge" | "inspect">;

export interface DecisionParts {
  readonly limiter: Decider;
  readonly directory: Directory;
  readonly store: AdminStore;
  readonly quota: Charge;
  readonly tally: Tally;
  /** Null where nobody is to be ranked. */
  readonly topIdentifiers: TopIdentifierDesk | null;
  /** Counts every decision, by namespace and workspace. */
  readonly usage: UsageTally;
}

/** A span that is null is of a request that is not traced. */
type Span = RequestSpan | null;

export class Decisions {
  readonly #parts: DecisionParts;

  constructor(parts: DecisionParts) {
    this.#parts = parts;
  }

  /** @throws Refusal, or an error that `refusalOf` knows (or rejects with it). */
  decide(caller: Caller, request: DecisionRequest, span: Span): DecidedRequest | Promise<DecidedRequest> {
    const namespace = authorise(this.#parts.directory, caller, request, "limit");
    return namespace === null
      ? this.#create(caller, request.namespace).then((made) => this.#decideIn(made, request, span))
      : this.#decideIn(namespace, request, span);
  }

  /** Counts a cost whether it fits or not: in the key that `decide` would count it in. @throws as `decide` does. */
  charge(caller: Caller, request: DecisionRequest, span: Span): ChargedRequest | Promise<ChargedRequest> {
    const namespace = authorise(this.#parts.directory, caller, request, "charge");
    return namespace === null
      ? this.#create(caller, request.namespace).then((made) => this.#chargeIn(made, request, span))
      : this.#chargeIn(namespace, request, span);
  }

  /** All are counted, or none. @throws as `decide` does. */
  decideMany(caller: Caller, requests: readonly DecisionRequest[], span: Span): DecidedBatch | Promise<DecidedBatch> {
    const charged = this.#parts.quota.charge(caller.workspace, requests.length - 1);
    return charged === undefined
      ? this.#decideAll(caller, requests, span)
      : charged.then(() => this.#decideAll(caller, requests, span));
  }

  /** Explains what a request would be decided, and counts nothing. @throws Refusal */
  inspect(caller: Caller, { namespace: idOrName, identifier, ...request }: InspectionRequest): InspectedRequest {
    const { directory, limiter } = this.#parts;
    const namespace = namespaceFor(directory, caller, idOrName, "read_namespace");
    checkWellFormed("identifier", identifier);
    const override = directory.overrideFor(namespace.id, identifier);
    const limit = override?.limit ?? request.limit;
    const duration = override?.durationMs ?? request.duration;
    if (limit === undefined) throw Refusal.at("limit", "is required: no override applies to the identifier");
    if (duration === undefined) throw Refusal.at("duration", "is required: no override applies to the identifier");
    const cost = request.cost ?? 1;
    const isShadow = namespace.isShadow || override?.isShadow === true;
    const counts = limiter.inspect({
      workspace: namespace.workspaceId,
      namespace: namespace.id,
      identifier,
      limit,
      duration,
    });
    const fits = cost <= limit && counts.effective + cost <= limit;
    return { namespace, override, isShadow, limit, duration, cost, success: fits || isShadow, counts };
  }

  #decideIn(
    namespace: NamespaceRecord,
    request: DecisionRequest,
    span: Span,
  ): DecidedRequest | Promise<DecidedRequest> {
    const resolved = resolve(this.#parts.directory, namespace, request);
    const decision = this.#ask(resolved.request, span);
    return decision instanceof Promise
      ? decision.then((late) => this.#record(resolved, late, this.#topNowMs()))
      : this.#record(resolved, decision, this.#topNowMs());
  }

  #chargeIn(namespace: NamespaceRecord, request: DecisionRequest, span: Span): ChargedRequest {
    const { directory, limiter, tally, topIdentifiers } = this.#parts;
    const resolved = resolve(directory, namespace, request);
    const decision: Charged = limiter.charge(resolved.request);
    void span?.watch(decision);
    tally.charged(namespace);
    topIdentifiers?.charged(namespace.id, resolved.request, decision, this.#topNowMs());
    return { resolved, decision, isShadowed: resolved.isShadow && !decision.success };
  }

  #decideAll(caller: Caller, requests: readonly DecisionRequest[], span: Span): DecidedBatch | Promise<DecidedBatch> {
    const { directory } = this.#parts;
    // All are authorised before the first namespace is created.
    const resolved: ResolvedRequest[] = [];
    const missing = new Set<string>();
    requests.forEach((request, item) => {
      const namespace = authorise(directory, caller, request, "limit", item);
      if (namespace === null) missing.add(request.namespace);
      else resolved.push(resolve(directory, namespace, request));
    });
    if (missing.size === 0) return this.#decideResolved(resolved, span);
    return this.#createAll(caller, requests, missing).then((created) => this.#decideResolved(created, span));
  }

  async #createAll(
    caller: Caller,
    requests: readonly DecisionRequest[],
    missing: ReadonlySet<string>,
  ): Promise<readonly ResolvedRequest[]> {
    const { directory } = this.#parts;
    const made = new Map<string, NamespaceRecord>();
    for (const name of missing) made.set(name, await this.#create(caller, name));
    return requests.map((request, item) => {
      const namespace = made.get(request.namespace) ?? authorise(directory, caller, request, "limit", item);
      // One of the others was deleted while these were created.
      if (namespace === null) throw Refusal.unavailable("A namespace of this batch changed during the request.");
      return resolve(directory, namespace, request);
    });
  }

  async #create({ key, workspace }: Caller, name: string): Promise<NamespaceRecord> {
    const { directory, store, quota } = this.#parts;
    const made = await store.createNamespace(workspace.id, name, creatorOf(quota, { key, workspace }), "traffic");
    if (made.deletedAtMs !== null) throw namespaceGone();
    // What is in the store is right, whether or not this server has it in memory yet.
    await directory.refresh().catch(() => {});
    return directory.namespaceOf(workspace.id, made.id) ?? made;
  }

  #decideResolved(resolved: readonly ResolvedRequest[], span: Span): DecidedBatch | Promise<DecidedBatch> {
    if (resolved.some(({ isShadow }) => isShadow)) return this.#decideWithShadows(resolved, span);
    const batch = this.#askMany(resolved, span);
    return batch instanceof Promise
      ? batch.then((late) => this.#recordAll(resolved, late))
      : this.#recordAll(resolved, batch);
  }

  async #decideWithShadows(resolved: readonly ResolvedRequest[], span: Span): Promise<DecidedBatch> {
    const enforced = resolved.filter(({ isShadow }) => !isShadow);
    const batch: BatchDecision =
      enforced.length === 0 ? { success: true, decisions: [] } : await this.#askMany(enforced, span);
    const left = batch.decisions[Symbol.iterator]();
    const decisions: Decision[] = [];
    for (const { isShadow, request } of resolved) {
      if (!isShadow) decisions.push(left.next().value!);
      // A shadow is counted with the others or not at all.
      else decisions.push(batch.success ? await this.#ask(request, span) : await this.#peek(request, span));
    }
    return this.#recordAll(resolved, { success: batch.success, decisions });
  }

  /** The decision on an item of a batch that failed: whether it fits by itself, and what it would have with nothing spent. */
  async #peek(request: LimitRequest, span: Span): Promise<Decision> {
    const free = await this.#ask({ ...request, cost: 0 }, span);
    const fits = free.success && free.remaining >= (request.cost ?? 1);
    return { ...free, success: fits, reason: fits ? "batch" : "limit" };
  }

  #ask(request: LimitRequest, span: Span): Decision | Promise<Decision> {
    const decision = this.#parts.limiter.decide(request);
    return span === null ? decision : span.watch(decision);
  }

  #askMany(resolved: readonly ResolvedRequest[], span: Span): BatchDecision | Promise<BatchDecision> {
    const batch = this.#parts.limiter.decideMany(resolved.map(({ request }) => request));
    return span === null ? batch : span.watch(batch);
  }

  #record(resolved: ResolvedRequest, decision: Decision, nowMs: number): DecidedRequest {
    const { tally, topIdentifiers, usage } = this.#parts;
    const { namespace, request } = resolved;
    const isShadowed = resolved.isShadow && !decision.success;
    tally.decided(namespace, decision, isShadowed);
    usage.decided(namespace, request, decision, isShadowed);
    topIdentifiers?.decided(namespace.id, request, decision, nowMs);
    return { resolved, decision, isShadowed };
  }

  #recordAll(resolved: readonly ResolvedRequest[], { success, decisions }: BatchDecision): DecidedBatch {
    const nowMs = this.#topNowMs();
    return { success, items: resolved.map((item, at) => this.#record(item, decisions[at]!, nowMs)) };
  }

  #topNowMs(): number {
    return this.#parts.topIdentifiers?.nowMs() ?? 0;
  }
}
