import { expect, test } from "vitest";
import type { Directory } from "../admin/directory.ts";
import { callerOf } from "./caller.ts";

const directory = (known: Partial<Directory>) =>
  ({ isLoaded: true, hasKeys: true, ageMs: 10, keyOf: () => undefined, ...known }) as Directory;

/**
 * A server on an empty database answered a preset root key with 401 for some tens of milliseconds, between the first read of the store and
 * the creation of the key. A client does not retry after a 401.
 */
test.each([
  ["before the store was read", { isLoaded: false, hasKeys: false }, "unavailable"],
  ["before there is a key", { hasKeys: false }, "unavailable"],
  ["once there are keys", {}, "key_not_found"],
])("an unknown key %s is refused", (_when, known, kind) => {
  expect(() => callerOf(directory(known), "token", 0, null)).toThrow(expect.objectContaining({ kind }));
});
