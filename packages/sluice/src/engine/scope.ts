/**
 * A scope is what most requests share: workspace, namespace and duration, validated and hashed once.
 *
 * Invariant: a scope's hash state belongs to its three fields. The cache overwrites its scopes in place, so that a miss
 * allocates nothing; whoever keeps a scope across an `await` must make its own (`create`), as a rule does.
 */
import type { DurationMs } from "../core/brands.ts";
import { parseDuration } from "../core/duration.ts";
import { checkPart } from "../core/part.ts";
import { HashState, type KeyHash } from "./key-hash.ts";

const WORKSPACE_DEFAULT = "default";

export class Scope {
  /** Unique among all scopes ever filled in this engine: changes whenever the fields do. 0: not filled yet. */
  id = 0;
  workspace = "";
  namespace = "";
  durationMs = 0 as DurationMs;
  /** The duration as the caller wrote it, to recognise it without parsing. */
  durationGiven: unknown = undefined;
  readonly hash: HashState = new HashState();
}

/** 2^8: more scopes than most services have; a miss costs about one hash of the two names. */
const CACHE_SIZE = 256;
/** The upper eight bits of a product are the best mixed. */
const CACHE_SHIFT = 24;
/** The units at the end of a name that are looked at: where numbered names differ. */
const ENDING = 6;

export class Scopes {
  readonly #hash: KeyHash;
  readonly #cache: Scope[] = Array.from({ length: CACHE_SIZE }, () => new Scope());

  #filled = 0;
  /** The scope that was asked for last. */
  #last: Scope = this.#cache[0]!;

  constructor(hash: KeyHash) {
    this.#hash = hash;
  }

  /** The scope of these fields; a SluiceError if one is not legal. Valid until the next call. */
  find(workspaceGiven: unknown, namespace: unknown, duration: unknown): Scope {
    const workspace = workspaceGiven === undefined ? WORKSPACE_DEFAULT : workspaceGiven;
    // The same as the last time, as in a service with one rule: comparing is cheaper than finding the place.
    if (isFor(this.#last, workspace, namespace, duration)) return this.#last;
    checkText(workspace, namespace);
    const scope = this.#cache[place(workspace as string, namespace as string, duration)]!;
    if (!isFor(scope, workspace, namespace, duration)) this.#fill(scope, workspace, namespace, duration);
    this.#last = scope;
    return scope;
  }

  /** A scope of the caller's own, which nothing overwrites. */
  create(workspaceGiven: unknown, namespace: unknown, duration: unknown): Scope {
    const scope = new Scope();
    this.#fill(scope, workspaceGiven === undefined ? WORKSPACE_DEFAULT : workspaceGiven, namespace, duration);
    return scope;
  }

  #fill(scope: Scope, workspace: unknown, namespace: unknown, duration: unknown): void {
    // Everything that can throw comes first: a scope is never left half filled.
    checkPart(workspace, "workspace");
    checkPart(namespace, "namespace");
    const durationMs = parseDuration(duration);
    scope.id = ++this.#filled;
    this.#hash.begin(scope.hash, workspace, namespace, durationMs);
    scope.workspace = workspace;
    scope.namespace = namespace;
    scope.durationMs = durationMs;
    scope.durationGiven = duration;
  }
}

function isFor(scope: Scope, workspace: unknown, namespace: unknown, duration: unknown): boolean {
  return (
    scope.namespace === namespace && scope.workspace === workspace && scope.durationGiven === duration && scope.id !== 0
  );
}

/** `place` reads characters: it may see strings only. */
function checkText(workspace: unknown, namespace: unknown): void {
  if (typeof workspace !== "string") checkPart(workspace, "workspace");
  if (typeof namespace !== "string") checkPart(namespace, "namespace");
}

/**
 * A cheap spread over the cache; two scopes that meet only cost each other a refill. Names differ most often at their begin
 * or end, durations in every character.
 */
function place(workspace: string, namespace: string, duration: unknown): number {
  const time = typeof duration === "number" ? duration | 0 : typeof duration === "string" ? spread(duration) : 0;
  const mixed = Math.imul(
    spread(workspace) ^ Math.imul(spread(namespace) ^ Math.imul(time, 0x9e3779b1), 0x85ebca6b),
    0xc2b2ae35,
  );
  return mixed >>> CACHE_SHIFT;
}

function spread(text: string): number {
  const { length } = text;
  if (length === 0) return 0;
  let mixed = length ^ (text.charCodeAt(0) << 8) ^ (text.charCodeAt(length >> 1) << 16);
  for (let i = Math.max(0, length - ENDING); i < length; i++) mixed = Math.imul(mixed, 31) + text.charCodeAt(i);
  return mixed;
}
