import { Limiter } from "sluice";
import { expect, test } from "vitest";
import type { Directory } from "../admin/directory.ts";
import { readinessOf } from "./readiness.ts";

test.each([
  ["the store was not read", { isLoaded: false, hasKeys: false }, false, "away"],
  ["nobody can be let in", { isLoaded: true, hasKeys: false }, false, "degraded"],
  ["there is a key", { isLoaded: true, hasKeys: true }, true, "ok"],
])("while %s", async (_, known, ready, status) => {
  const limiter = new Limiter();
  const directory = { ...known, ageMs: 10 } as Directory;
  expect(readinessOf(limiter.stats(), directory, false)).toMatchObject({ ready, layers: { admin: { status } } });
  expect(readinessOf(limiter.stats(), directory, true).ready).toBe(false);
  await limiter.close();
});
