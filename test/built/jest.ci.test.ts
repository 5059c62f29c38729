/**
 * A project with Jest and ts-jest, which load CommonJS: what `npm pack` makes is installed beside them, outside this tree, and a
 * test of that project limits a key and catches an error. Needs the built packages. It takes an installation, so it runs with CI=true and in
 * the lab; in `npm test`, packaging.test.ts loads the package by `require`.
 */
import { execFile } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";

const run = promisify(execFile);
const library = fileURLToPath(new URL("../../packages/sluice", import.meta.url));
const INSTALL = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"];

const SPEC = `
import { Limiter, SluiceError } from "sluice";

test("a limit of 1 denies the second request", async () => {
  const limiter = new Limiter();
  const rule = limiter.rule({ namespace: "api", limit: 1, duration: "30d" });
  const answers = [await rule.limit("user_42"), await rule.limit("user_42")];
  expect(answers.map(({ success }) => success)).toEqual([true, false]);
  await limiter.close();
});

test("misuse is a SluiceError", () => {
  expect(() => new Limiter({ cellsMax: 0 })).toThrow(SluiceError);
});
`;

async function projectWithJest(): Promise<string> {
  const project = temporaryFolder();
  for (const name of ["package.json", "package-lock.json"])
    cpSync(join(import.meta.dirname, "jest", name), join(project, name));
  await run("npm", ["ci", ...INSTALL], { cwd: project });
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", project], { cwd: library });
  const [packed] = JSON.parse(stdout) as { readonly filename: string }[];
  await run("npm", ["install", "--no-save", ...INSTALL, join(project, packed!.filename)], { cwd: project });
  writeFileSync(join(project, "limiter.test.ts"), SPEC);
  writeFileSync(
    join(project, "jest.config.js"),
    'module.exports = { transform: { "\\\\.ts$": ["ts-jest", { tsconfig: "tsconfig.json" }] } };',
  );
  return project;
}

describe("a project with Jest and ts-jest", () => {
  test("limits and catches errors, with the module resolution of Node 10 and of Node 16", async () => {
    const project = await projectWithJest();
    for (const compilerOptions of [
      { module: "commonjs", moduleResolution: "node10", esModuleInterop: true, strict: true },
      { module: "node16", moduleResolution: "node16", strict: true },
    ]) {
      writeFileSync(
        join(project, "tsconfig.json"),
        JSON.stringify({ compilerOptions: { target: "es2022", ...compilerOptions } }),
      );
      const { stderr } = await run("npx", ["jest", "--no-cache"], { cwd: project });
      expect(stderr).toMatch(/Tests: +2 passed, 2 total/);
    }
    removeFolder(project);
  }, 180_000);
});
