/** The store has no types of its own, and no public export: the plugin loads it by this path. */
declare module "@fastify/rate-limit/store/LocalStore.js" {
  export interface LocalHits {
    readonly current: number;
    readonly ttl: number;
  }
  export default class LocalStore {
    constructor(continueExceeding: boolean, exponentialBackoff: boolean, cache?: number);
    incr(key: string, done: (error: Error | null, hits: LocalHits) => void, timeWindow: number, max: number): void;
  }
}
