/** Parts that are suites of the tests, at the length of the lab (test/rig/length.ts), one chunk per suite and round. */
import { chosen, listed, type Part, problemsOf } from "./part.ts";

interface SuitePart {
  readonly name: string;
  readonly summary: string;
  /** Paths of the suites. */
  readonly suites: readonly string[];
  readonly flags: Part["flags"];
  readonly isOfBuild?: boolean;
}

function suitePart({ name, summary, suites, flags, isOfBuild = false }: SuitePart): Part {
  return {
    name,
    summary,
    flags,
    isOfBuild,
    // They measure times, on a machine with two cores.
    atOnce: 1,
    begin: ({ rounds, requests, only }) => {
      const names = chosen(suites.map(shortName), only, "suite");
      const chosenSuites = suites.filter((suite) => names.includes(shortName(suite)));
      const count = flags.includes("rounds") ? rounds : 1;
      const chunks = Array.from({ length: count }, (_, round) =>
        chosenSuites.map((suite) => ({
          id: count === 1 ? shortName(suite) : `${shortName(suite)} ${round + 1}`,
          args: ["node_modules/vitest/vitest.mjs", "run", suite],
          env: {
            CI: "true",
            SLUICE_LENGTH: "lab",
            SLUICE_LAB_REQUESTS: String(requests),
            // Every round draws other kills; the first is the one that the tests run.
            ...(round === 0 ? {} : { SLUICE_SEED: String(20_261_116 + round) }),
          },
        })),
      ).flat();
      return {
        seed: 0,
        ...listed(chunks, "suites"),
        conclude: (done) => {
          const problems = problemsOf(done);
          const all = [...done.values()].flatMap(({ figures }) => figures);
          return {
            isGreen: problems.length === 0,
            length: `${chunks.length} ${chunks.length === 1 ? "suite" : "suites"}`,
            figures: all.join("; ") || `${done.size} suites`,
            problems,
          };
        },
      };
    },
  };
}

/** `test/redis/load.test.ts` is `redis/load`. */
function shortName(suite: string): string {
  return suite.replace(/^test\//, "").replace(/[.]test[.]ts$/, "");
}

export const chaos: Part = suitePart({
  name: "chaos",
  summary: "real processes on real Redis, MariaDB and PostgreSQL, killed, frozen and cut off; histories checked",
  suites: [
    "test/redis/processes.test.ts",
    "test/built/shared-workers.test.ts",
    "test/redis/load.test.ts",
    "test/redis/faults.test.ts",
    "test/sql/faults.test.ts",
    "test/sql/world.test.ts",
  ],
  isOfBuild: true,
  flags: ["rounds", "only"],
});

export const attack: Part = suitePart({
  name: "attack",
  summary: "millions of invented identifiers against a full table; busy keys are decided as without them",
  suites: ["test/attacks/eviction.test.ts"],
  flags: ["rounds"],
});

export const serverAttack: Part = suitePart({
  name: "server-attack",
  summary: "every known attack on a server at once for ten minutes; an honest tenant's answers stay right and fast",
  suites: ["test/attacks/server.test.ts"],
  isOfBuild: true,
  flags: [],
});

export const malformed: Part = suitePart({
  name: "malformed",
  summary: "--requests requests that are wrong in every way; none is counted, and memory stays flat",
  suites: ["test/server/malformed.test.ts"],
  flags: ["requests"],
});

export const models: Part = suitePart({
  name: "models",
  summary:
    "the library against the reference model, random interleavings, the model of admit, named worlds, isolation of keys",
  suites: [
    "test/protocol/reference.test.ts",
    "test/protocol/interleavings.test.ts",
    "test/protocol/admit-model.test.ts",
    "test/sim/scenarios.test.ts",
    "test/sim/isolation.test.ts",
  ],
  flags: ["only"],
});
