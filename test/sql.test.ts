/** The global counters on real databases: the conformance suite. */
import { afterAll, beforeAll } from "vitest";
import { countersConformance } from "../packages/sluice/src/global/counters-conformance.ts";
import { OVERLAP_MS, SQL_NAMES, type SqlStoreRig, startSql } from "./sql-stores.ts";

const rigs = new Map<string, SqlStoreRig>();

beforeAll(async () => {
  for (const name of SQL_NAMES) rigs.set(name, await startSql(name));
});

afterAll(async () => {
  for (const rig of rigs.values()) await rig.stop();
});

const elapse = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Each run makes two sets of tables. */
const propertyRuns = process.env["CI"] === "true" ? 30 : 4;

for (const name of SQL_NAMES) {
  const setUp = async () => {
    const counters = rigs.get(name)!.counters();
    return { counters, nowMs: () => Date.now(), elapse, overlapMs: OVERLAP_MS };
  };
  countersConformance(name, setUp, { propertyRuns });
}
