/**
 * Mutation testing: one folder of the library per chunk, or only what `--only` names (`origin,engine/batch.ts`). Stryker itself
 * leaves out what has not changed since its last run. Writes docs/mutation.md.
 */
import { FOLDERS, mutable, summarize, writePage } from "../mutation/report.mjs";
import { chosen, listed, type Part, problemsOf } from "./part.ts";

export const mutation: Part = {
  name: "mutation",
  summary: "small changes of the source, each of which must make a test fail; one folder after the other",
  flags: ["only"],
  // Stryker runs two processes itself.
  atOnce: 1,
  begin: ({ only }) => {
    const names = chosen(mutable(), only, "folder or file to mutate");
    const folders = FOLDERS.filter((folder) => names.some((name) => name.split("/")[0] === folder));
    const chunks = folders.map((folder) => {
      const files = only.includes(folder) ? [] : only.filter((name) => name.startsWith(`${folder}/`));
      const mutate =
        files.length === 0 ? [] : ["--mutate", files.map((name) => `packages/sluice/src/${name}`).join(",")];
      return {
        id: folder,
        args: ["node_modules/@stryker-mutator/core/bin/stryker.js", "run", ...mutate],
        // One run against the reference model, always the same.
        env: { SLUICE_MUTANTS: folder, SLUICE_SEED: "7" },
        progressOf: (line: string) => {
          const [, tested, all] = /(\d+)\/(\d+) tested/.exec(line) ?? [];
          return tested === undefined ? undefined : Number(tested) / Number(all);
        },
      };
    });
    return {
      seed: 0,
      ...listed(chunks, "folders"),
      conclude: async (done, isWhole) => {
        const failed = problemsOf(done);
        const { mutants, survived, score, problems } = summarize();
        if (isWhole && failed.length === 0) await writePage();
        return {
          isGreen: failed.length + problems.length === 0,
          length: `${mutants} mutants`,
          figures: `score ${score.toFixed(1)}, ${survived} survived`,
          problems: [...failed, ...problems],
        };
      },
    };
  },
};
