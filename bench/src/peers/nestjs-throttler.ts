/**
 * @nestjs/throttler: `increment` of its in-memory storage with the guard's default block duration, the window itself.
 * It keeps a time per hit and walks all of a key's on every call.
 */
import "reflect-metadata";
import { ThrottlerStorageService } from "@nestjs/throttler";
import { type Instance, type Load, WINDOW_MS } from "../contender.ts";

type StorageRecord = Awaited<ReturnType<ThrottlerStorageService["increment"]>>;

export function create({ limit }: Load): Instance<string, StorageRecord> {
  const storage = new ThrottlerStorageService();
  return {
    call: (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, "default"),
    isAllowed: (record) => !record.isBlocked,
    used: (record) => record.totalHits,
    close: () => storage.onApplicationShutdown(),
  };
}
