/**
 * The directory: all records in maps, and the loop that keeps them true.
 *
 * One question to the store at a time. `refresh` promises what the store holds *now*: if a question is under way, its answer may be
 * older than the call, so another follows, shared by all who asked meanwhile. After a failure everything is read again: what answers
 * then may be another database, or an older state of the same one.
 */
import type { Environment } from "../system/system.ts";
import { type AdminStore, AdminStoreAway, type Changes } from "./admin-store.ts";
import type { Directory, OverrideUse } from "./directory.ts";
import { MatchMemory } from "./match-memory.ts";
import { NamespaceIndex } from "./namespace-index.ts";
import { OverrideMatch } from "./override-match.ts";
import { PatternText } from "./pattern-text.ts";
import type { KeyRecord, NamespaceRecord, OverrideRecord, WorkspaceRecord } from "./records.ts";
import { hashOf, isSameHash, TOKEN_LENGTH_MAX } from "./token.ts";

/** With the jitter below a change is everywhere within 0.6 s and two round trips. */
const POLL_MS = 500;
const JITTER_MS = 200;
/** More different keys than this are rarely in use at one server; the others are hashed each time. */
const HASHES_MAX = 1_000;
const NO_USE: OverrideUse = { overrides: 0, stars: 0 };
const NO_HASH = "0".repeat(64);

/** How often everything is read while a record is corrupt: a repair by hand has no revision. */
const REPAIR_CHECK_MS = 30_000;
/** How many corrupt records are named. */
const CORRUPT_MAX = 100;

/** Everything that is known: replaced whole when everything was read. */
class Holdings {
  revision = 0;
  readonly corrupt = new Set<string>();
  readonly workspaces = new Map<string, WorkspaceRecord>();
  readonly namespaces = new Map<string, NamespaceIndex>();
  /** By namespace. */
  readonly overrides = new Map<string, OverrideMatch>();
  /** Of each workspace, over its namespaces. */
  readonly overrideUse = new Map<string, OverrideUse>();
  readonly keys = new Map<string, KeyRecord>();
  readonly keysByHash = new Map<string, KeyRecord>();
}

export class MemoryDirectory implements Directory {
  readonly #store: AdminStore;
  readonly #environment: Environment;
  readonly #onFailure: (error: unknown) => void;
  readonly #onAnswer: () => void;
  #holdings = new Holdings();
  readonly #patternText: PatternText;
  readonly #matches = new MatchMemory();
  /**
   * The hashes of tokens that were found good: a tenth of a request's time is saved. A wrong token is never in here, and a look-up
   * compares no more of it than its seeded hash, so it tells nobody how near he came.
   */
  readonly #hashes = new Map<string, string>();
  #answeredAtMs: number | null = null;
  readonly #madeAtMs: number;
  #mustReadAll = true;
  /** When everything was last read. */
  #wholeAtMs = 0;
  #underWay: Promise<void> | null = null;
  /** The question that follows the one under way. */
  #next: Promise<void> | null = null;
  #timer: unknown = null;
  #isClosed = false;

  /** Of the loop's questions, `onFailure` is told of every one that failed, and `onAnswer` of every one that did not. */
  constructor(
    store: AdminStore,
    environment: Environment,
    onFailure: (error: unknown) => void = () => {},
    onAnswer: () => void = () => {},
  ) {
    this.#store = store;
    this.#environment = environment;
    this.#onFailure = onFailure;
    this.#onAnswer = onAnswer;
    this.#patternText = new PatternText(environment.random);
    this.#madeAtMs = environment.clock.monoMs();
  }

  /** Begins the loop: the first question is asked at once. */
  start(): void {
    const { timers, random } = this.#environment;
    void this.refresh()
      .then(this.#onAnswer, (error: unknown) => this.#onFailure(error))
      .then(() => {
        if (this.#isClosed) return;
        this.#timer = timers.set(() => this.start(), POLL_MS - JITTER_MS / 2 + (random.uint32() % JITTER_MS));
      });
  }

  refresh(): Promise<void> {
    if (this.#isClosed) return Promise.reject(new AdminStoreAway("the directory is closed"));
    if (this.#underWay === null) return this.#ask();
    this.#next ??= this.#underWay
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.refresh();
      });
    return this.#next;
  }

  /** Ends the loop, after the question that is under way. The store is its owner's. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#environment.timers.clear(this.#timer);
    await this.#underWay?.catch(() => undefined);
  }

  get isLoaded(): boolean {
    return this.#answeredAtMs !== null;
  }

  get hasKeys(): boolean {
    return this.#holdings.keys.size > 0;
  }

  get corrupt(): readonly string[] {
    return [...this.#holdings.corrupt];
  }

  get ageMs(): number {
    return this.#environment.clock.monoMs() - (this.#answeredAtMs ?? this.#madeAtMs);
  }

  keyOf(token: string): KeyRecord | undefined {
    if (token.length > TOKEN_LENGTH_MAX) return undefined;
    const hash = this.#hashes.get(token) ?? hashOf(token);
    const key = this.#holdings.keysByHash.get(hash);
    if (!isSameHash(key?.hash ?? NO_HASH, hash) || key === undefined) return undefined;
    if (this.#hashes.size < HASHES_MAX) this.#hashes.set(token, hash);
    if (key.expiresAtMs !== null && key.expiresAtMs <= this.#environment.clock.wallMs()) return undefined;
    return key;
  }

  keyById(id: string): KeyRecord | undefined {
    return this.#holdings.keys.get(id);
  }

  workspaceOf(id: string): WorkspaceRecord | undefined {
    return this.#holdings.workspaces.get(id);
  }

  namespaceOf(workspaceId: string, idOrName: string): NamespaceRecord | undefined {
    return this.#holdings.namespaces.get(workspaceId)?.of(idOrName);
  }

  namespacesOf(workspaceId: string): readonly NamespaceRecord[] {
    return this.#holdings.namespaces.get(workspaceId)?.all() ?? [];
  }

  overrideFor(namespaceId: string, identifier: string): OverrideRecord | undefined {
    return this.#holdings.overrides.get(namespaceId)?.for(identifier);
  }

  overrideOf(namespaceId: string, identifier: string): OverrideRecord | undefined {
    return this.#holdings.overrides.get(namespaceId)?.of(identifier);
  }

  overridesOf(namespaceId: string): readonly OverrideRecord[] {
    return this.#holdings.overrides.get(namespaceId)?.sorted() ?? [];
  }

  overrideUseOf(namespaceOrWorkspaceId: string): OverrideUse {
    const { overrides, overrideUse } = this.#holdings;
    return overrides.get(namespaceOrWorkspaceId)?.use ?? overrideUse.get(namespaceOrWorkspaceId) ?? NO_USE;
  }

  keysOf(workspaceId: string): readonly KeyRecord[] {
    return [...this.#holdings.keys.values()].filter((key) => key.workspaceId === workspaceId);
  }

  #ask(): Promise<void> {
    const reading = this.#askOnce().finally(() => {
      this.#underWay = null;
    });
    this.#underWay = reading;
    return reading;
  }

  async #askOnce(): Promise<void> {
    try {
      const { clock } = this.#environment;
      const isRepairDue = this.#holdings.corrupt.size > 0 && clock.monoMs() - this.#wholeAtMs >= REPAIR_CHECK_MS;
      const changes = await this.#store.changesSince(this.#mustReadAll || isRepairDue ? 0 : this.#holdings.revision);
      if (changes?.isWhole === true) {
        this.#holdings = new Holdings();
        this.#matches.clear();
        this.#wholeAtMs = clock.monoMs();
      }
      if (changes !== null) apply(changes, this.#holdings, () => new OverrideMatch(this.#patternText, this.#matches));
      this.#mustReadAll = false;
      this.#answeredAtMs = this.#environment.clock.monoMs();
    } catch (error) {
      this.#mustReadAll = true;
      throw error;
    }
  }
}

function apply(changes: Changes, holdings: Holdings, newMatch: () => OverrideMatch): void {
  for (const row of changes.corrupt) if (holdings.corrupt.size < CORRUPT_MAX) holdings.corrupt.add(row);
  for (const workspace of changes.workspaces) holdings.workspaces.set(workspace.id, workspace);
  for (const { isDeleted, ...namespace } of changes.namespaces) {
    const index = made(holdings.namespaces, namespace.workspaceId, () => new NamespaceIndex());
    if (isDeleted) index.delete(namespace);
    else index.set(namespace);
  }
  for (const { isDeleted, ...override } of changes.overrides) {
    const match = made(holdings.overrides, override.namespaceId, newMatch);
    const before = match.use;
    if (isDeleted) match.delete(override.identifier);
    else match.set(override);
    const { overrides, stars } = holdings.overrideUse.get(override.workspaceId) ?? NO_USE;
    holdings.overrideUse.set(override.workspaceId, {
      overrides: overrides + match.use.overrides - before.overrides,
      stars: stars + match.use.stars - before.stars,
    });
    if (match.size === 0) holdings.overrides.delete(override.namespaceId);
  }
  for (const { isDeleted, ...key } of changes.keys) {
    holdings.keys.delete(key.id);
    holdings.keysByHash.delete(key.hash);
    if (isDeleted) continue;
    holdings.keys.set(key.id, key);
    holdings.keysByHash.set(key.hash, key);
  }
  holdings.revision = changes.revision;
}

function made<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = make();
  map.set(key, value);
  return value;
}
