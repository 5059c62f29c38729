/** An upgrade under load and the way back, with servers of an earlier version. Needs the history of the repository. */
import { listed, type Part, problemsOf } from "./part.ts";

export const mixedVersions: Part = {
  name: "mixed-versions",
  summary: "servers of an earlier version (--from) replaced under load by those of this tree, and back",
  flags: ["from"],
  isOfBuild: true,
  atOnce: 1,
  begin: ({ from }) => {
    const flags = from === undefined ? [] : ["--from", from];
    const args = ["--import", "tsx", "bench/src/mixed-versions/main.ts", ...flags];
    return {
      seed: 0,
      ...listed([{ id: "mixed-versions", args }], "run"),
      conclude: (done) => {
        const problems = problemsOf(done);
        const figures =
          problems.length === 0 ? "every accepted request is stored, none is denied by mistake" : "failed";
        return { isGreen: problems.length === 0, length: `from ${from ?? "the default version"}`, figures, problems };
      },
    };
  },
};
