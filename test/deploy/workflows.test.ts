/** The workflows in .github call commands and name files that exist. `actionlint` checks their form; it is run by hand when they change. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, ".github/workflows");

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

const workflows = readdirSync(folder).map((name) => ({
  name,
  workflow: parse(readFileSync(join(folder, name), "utf8")) as Workflow,
}));
const commands = ({ jobs }: Workflow) =>
  Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => (run === undefined ? [] : [run])));

describe("workflows", () => {
  test("ci and release run .ci/run", () => {
    expect(workflows.map(({ name }) => name).sort()).toEqual(["ci.yml", "release.yml"]);
    for (const { workflow } of workflows) expect(commands(workflow).join("\n")).toContain("bash .ci/run");
  });

  test.each(workflows)("$name names scripts of package.json and folders of this tree", ({ workflow }) => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
    const text = commands(workflow).join("\n");
    for (const [, script = ""] of text.matchAll(/npm run ([\w-]+)/g)) expect(Object.keys(scripts)).toContain(script);
    for (const [path] of text.matchAll(/\bdeploy\/[\w/-]+/g)) expect(existsSync(join(root, path)), path).toBe(true);
  });
});
