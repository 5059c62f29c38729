import { describe, expect, test } from "vitest";
import { folderCycles } from "./folder-cycles.mjs";

const importOf = (line: string) => {
  const [from = "", to = ""] = line.split(" > ");
  return { from, to };
};
const cyclesIn = (...lines: string[]) => folderCycles(lines.map(importOf));

describe("folder cycles", () => {
  test("imports that go one way make none, whatever their depth", () => {
    expect(cyclesIn("src/index.ts > src/b/b.ts", "src/b/b.ts > src/a/x/a.ts", "src/b/c/d.ts > src/b/b.ts")).toEqual([]);
  });

  test("files of one folder that import each other are no matter of folders", () => {
    expect(cyclesIn("src/a/x.ts > src/a/y.ts", "src/a/y.ts > src/a/x.ts")).toEqual([]);
  });

  test("two folders that import each other are one, with the imports that show it", () => {
    expect(cyclesIn("src/a/x.ts > src/b/x.ts", "src/b/y.ts > src/a/y.ts")).toEqual([
      "src: a -> b -> a\n  src/a/x.ts imports src/b/x.ts\n  src/b/y.ts imports src/a/y.ts",
    ]);
  });

  test("the files of a folder and a folder inside it are one", () => {
    const [cycle] = cyclesIn(
      "src/sim/world.ts > src/sim/checker/checker.ts",
      "src/sim/checker/part.ts > src/sim/history.ts",
    );
    expect(cycle).toMatch(/^src\/sim: \. -> checker -> \.\n/);
  });

  test("a folder counts with all that is inside it", () => {
    expect(cyclesIn("src/a/x/y.ts > src/b/b.ts", "src/b/c/d.ts > src/a/a.ts")).toHaveLength(1);
  });

  test("a cycle of three folders is found once", () => {
    const [cycle, ...others] = cyclesIn(
      "src/a/a.ts > src/b/b.ts",
      "src/b/b.ts > src/c/c.ts",
      "src/c/c.ts > src/a/b.ts",
    );
    expect(cycle).toMatch(/^src: a -> b -> c -> a\n/);
    expect(others).toEqual([]);
  });
});
