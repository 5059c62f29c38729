/** Which source the lab runs on: the commit for people, and a hash of every file for the state of an interrupted run. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";

export interface Source {
  /** `1a2b3c4`, or `1a2b3c4 with changes`. */
  readonly commit: string;
  /** Of all files but those that the lab writes itself, and texts. */
  readonly hash: string;
  /** A number that differs for every commit. */
  readonly seed: number;
}

/** What a run may change without being another run. */
const isLeftOut = (path: string) => path.startsWith("docs/") || path.endsWith(".md") || path === "test/sim/corpus.json";

export function sourceOf(root: string): Source {
  const git = (args: readonly string[], input = "") =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", input, maxBuffer: 2 ** 28 });
  const head = git(["rev-parse", "HEAD"]).trim();
  const names = git(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]).split("\0");
  const deleted = new Set(git(["ls-files", "--deleted", "-z"]).split("\0"));
  const paths = [...new Set(names)].filter((path) => path !== "" && !deleted.has(path) && !isLeftOut(path)).sort();
  const hashes = git(["hash-object", "--no-filters", "--stdin-paths"], paths.map((path) => `${path}\n`).join(""));
  const hash = createHash("sha256").update(paths.join("\n")).update(hashes).digest("hex").slice(0, 16);
  const changed = git(["status", "--porcelain", "-z"])
    .split("\0")
    .filter((line) => line !== "" && !isLeftOut(line.slice(3)));
  return {
    commit: `${head.slice(0, 7)}${changed.length > 0 ? " with changes" : ""}`,
    hash,
    seed: Number.parseInt(head.slice(0, 8), 16),
  };
}
