/** Every deliberate mistake, one per chunk: the checker must notice it. Writes docs/canaries.md. */
import { TESTED_CANARIES } from "../../test/canaries/audit-canaries.ts";
import { CANARIES } from "../../test/canaries/aviary.ts";
import { writeTable } from "../../test/canaries/canary-table.ts";
import type { Caught } from "../../test/canaries/catch.ts";
import { BLIND_CANARIES } from "../../test/canaries/checker-canaries.ts";
import { runInOrder } from "../steps.mjs";
import { chosen, listed, type Part, problemsOf } from "./part.ts";

/** Sound code in the same worlds, in which nothing may be noticed. */
const CONTROL = "control";
const NAMES = [...CANARIES, ...BLIND_CANARIES, ...TESTED_CANARIES].map(({ name }) => name);

export const canaries: Part = {
  name: "canaries",
  summary: "deliberate mistakes in the library and the checker, each of which must be noticed",
  flags: ["seed", "only"],
  atOnce: 2,
  begin: ({ seed: given, only }) => {
    const seed = given ?? Math.floor(Date.now() / 1_000) * 2 ** 12;
    const names = [CONTROL, ...chosen(NAMES, only, "canary")];
    const chunks = names.map((id) => ({
      id,
      args: ["--import", "tsx", "scripts/lab/canary-chunk.ts", id, String(seed)],
    }));
    return {
      seed,
      ...listed(chunks, "canaries"),
      conclude: async (done, isWhole) => {
        const problems = problemsOf(done);
        const caught = names.flatMap((name) => (done.get(name)?.data as Caught | null | undefined) ?? []);
        if (isWhole && problems.length === 0) {
          writeTable(seed, caught);
          await runInOrder([{ name: "format", command: "biome format --write docs/canaries.md" }]);
        }
        const seconds = caught.reduce((sum, one) => sum + one.seconds, 0);
        const slowest = caught.toSorted((a, b) => b.seconds - a.seconds)[0];
        const figures = [
          `${caught.length} of ${names.length - 1} caught, from seed ${seed}`,
          `${seconds.toFixed(0)} s of search`,
          ...(slowest === undefined ? [] : [`slowest ${slowest.name} with ${slowest.seconds.toFixed(1)} s`]),
        ].join(", ");
        return { isGreen: problems.length === 0, length: `${names.length - 1} canaries`, figures, problems };
      },
    };
  },
};
