/**
 * The documentation is true: its errors are those of the code, its examples compile, run and print what they say they
 * print, its links lead somewhere, and nothing in the tree tells on which machine it was made.
 *
 * In an example, a comment `// prints …` stands for one line on the console, in order. Its time stands still.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { format } from "node:util";
import ts from "typescript";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { ERRORS, OPTION_RULES } from "../../packages/sluice/src/core/errors.ts";
import { SUITE_FOLDERS } from "../../scripts/suite-packages.mjs";
import { installSuitePackages } from "../rig/suite-packages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The last two are where `npm start` keeps its data, and where `npm run release-check` packs. */
const NOT_OURS = new Set(["node_modules", "dist", "coverage", ".git", "sluice-data", "release"]);

/** Every file of the project, as a path from the root. */
const files = readdirSync(root, { withFileTypes: true })
  .filter(({ name }) => !NOT_OURS.has(name))
  .flatMap((entry) => (entry.isDirectory() ? filesBelow(entry.name) : [entry.name]));
const pages = files.filter((file) => file.endsWith(".md"));

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !NOT_OURS.has(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    });
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** A page without its code: a `#` or a `](` in there is neither a heading nor a link. */
function prose(page: string): string {
  return read(page)
    .replace(/^```.*?^```$/gms, "")
    .replace(/`[^`\n]*`/g, "code");
}

interface Example {
  /** Where it stands: `README.md:42`. */
  readonly place: string;
  /** The code, after as many empty lines as stand before it in its page: so every message names the page's own line. */
  readonly text: string;
  readonly isRun: boolean;
  readonly prints: readonly string[];
}

function examplesOf(page: string): Example[] {
  const text = read(page);
  return [...text.matchAll(/^```(?:ts|typescript)\b(.*)\n((?:.*\n)*?)```$/gm)].map((match) => {
    const [, mark = "", code = ""] = match;
    const line = text.slice(0, match.index).split("\n").length;
    return {
      place: `${page}:${line}`,
      text: "\n".repeat(line) + code,
      isRun: mark.trim() !== "no-run",
      prints: [...code.matchAll(/\/\/ prints (.*)$/gm)].map(([, printed = ""]) => printed),
    };
  });
}

const examples = pages.flatMap(examplesOf);

/** The examples in the comments of the library's public functions and methods: compiled, not run. */
const commented = files
  .filter((file) => /^packages\/sluice\/src\/.*(?<!\.test)(?<!\.test-d)\.ts$/.test(file))
  .flatMap((file) => {
    const text = read(file);
    return [...text.matchAll(/@example\n *\* ```ts\n((?:.*\n)*?) *\* ```\n/g)].map((match): Example => {
      const line = text.slice(0, match.index).split("\n").length + 1;
      const code = (match[1] ?? "").replaceAll(/^ *\* ?/gm, "");
      return { place: `${file}:${line}`, text: "\n".repeat(line) + code, isRun: false, prints: [] };
    });
  });

describe("docs/errors.md", () => {
  const rulesOfOptions: Readonly<Record<string, Readonly<Record<string, string>>>> = OPTION_RULES;
  const sections = new Map(
    read("docs/errors.md")
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.split("\n", 1)[0] ?? "", section]),
  );

  test("lists every code of the table, and no other", () => {
    expect([...sections.keys()].filter((name) => name.startsWith("RL_"))).toEqual(Object.keys(ERRORS));
  });

  test.each(Object.entries(ERRORS))("%s has its rule in the table's words, and an example", (code, rule) => {
    const section = sections.get(code) ?? "";
    const options = rulesOfOptions[code];
    const shown = options === undefined ? rule : "<rule>";
    expect(section).toContain(`**Message:** \`<field> must be ${shown}; got <value> (${code})\``);
    const listed = [...section.matchAll(/^\| `.*?` .*?\| (.+?) +\|$/gm)].map(([, text]) => text);
    expect(new Set(listed)).toEqual(new Set(Object.values(options ?? {})));
    expect(section).toMatch(/^```ts$/m);
  });

  test("names no code that the table does not hold, on any page", () => {
    const named = pages.flatMap((page) => [...read(page).matchAll(/\bRL_[A-Z_]+\b/g)].map(([code]) => code));
    expect(named.filter((code) => !Object.hasOwn(ERRORS, code))).toEqual([]);
  });
});

describe("docs/server.md", () => {
  test("lists every event of the log, and no other", () => {
    const sources = files.filter((file) => /^packages\/server\/src\/.*(?<!\.test)\.ts$/.test(file));
    const calls = /\blog(?:\.\w+|\[[^\]]+\])\(\s*["`]([a-z.-]+)(?:\$\{(\w+)\})?["`]/g;
    const written = sources.flatMap((file) =>
      [...read(file).matchAll(calls)].map(([, name = "", rest]) => (rest === undefined ? name : `${name}<${rest}>`)),
    );
    const [, table = ""] = read("docs/server.md").split("Events, and what they tell:");
    const listed = [...table.matchAll(/^\| `([^`]+)` /gm)].map(([, name]) => name).filter((name) => name !== "event");
    expect(listed.sort()).toEqual([...new Set(written)].sort());
  });
});

describe("examples", () => {
  let folder = "";

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "sluice-docs-"));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  test("stand in both READMEs, on the page of the library and on the page of errors", () => {
    const withExamples = new Set(examples.map(({ place }) => place.replace(/:\d+$/, "")));
    expect([...withExamples]).toEqual(
      expect.arrayContaining([
        "README.md",
        join("packages", "sluice", "README.md"),
        join("docs", "library.md"),
        join("docs", "errors.md"),
      ]),
    );
  });

  test.each(examples.filter(({ isRun }) => isRun))("$place runs and prints what it says", async (example) => {
    const name = `${example.place.replaceAll(/\W/g, "-")}.ts`;
    // Beside the packages that it imports, if those are of a suite's own folder.
    const home = folderOf(example.text);
    const file = join(home === join(root, "test") ? folder : home, name);
    onTestFinished(() => rmSync(file));
    writeFileSync(file, example.text);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1, 12, 30, 30, 500) });
    const printed: string[] = [];
    vi.spyOn(console, "log").mockImplementation((...values) => printed.push(format(...values)));

    await import(/* @vite-ignore */ file);

    expect(printed).toEqual(example.prints);
  });

  test("compile with the settings of this project", () => {
    expect(complaints(examples)).toEqual([]);
  });

  test("in the library's comments stand on every public function and method, and compile", () => {
    // The limiter and its rules: 24. A reservation: 1. Stores in memory: 4. Redis: 1. Two for each of the three databases. Five middlewares, five keys, a store and
    // a clock.
    expect(commented.length).toBe(24 + 1 + 4 + 1 + 3 * 2 + 5 + 5 + 2);
    expect(complaints(commented)).toEqual([]);
  });

  test("of the package's README stand on the page of the library, too", () => {
    const code = (page: string) => examplesOf(page).map(({ text }) => text.trim());
    expect(code("docs/library.md")).toEqual(expect.arrayContaining(code("packages/sluice/README.md")));
  });
});

/** Where the packages are that an example imports: in the folder of a suite, or at the root. */
function folderOf(text: string): string {
  const own = SUITE_FOLDERS.find((folder) => {
    const { devDependencies } = JSON.parse(read(`${folder}/package.json`)) as { devDependencies: object };
    return Object.keys(devDependencies).some((name) => text.includes(`"${name}"`));
  });
  if (own === undefined) return join(root, "test");
  installSuitePackages(join(root, own));
  return join(root, own);
}

/** What the compiler says of the examples, as if each were a file of a suite. */
function complaints(all: readonly Example[]): string[] {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile) as { config: object };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const sources = new Map(all.map(({ place, text }, i) => [join(folderOf(text), `example-${i}.ts`), { place, text }]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (file) => sources.has(file) || fileExists(file);
  host.readFile = (file) => sources.get(file)?.text ?? readFile(file);
  // Only the examples are judged: unused names are what examples are made of, and the project checks the rest itself.
  const program = ts.createProgram([...sources.keys()], { ...options, noUnusedLocals: false }, host);
  return [...sources].flatMap(([file, { place }]) => {
    const source = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((diagnostic) => {
      const line = source?.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line ?? 0;
      const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n");
      return `${place.replace(/\d+$/, "")}${line + 1} ${message}`;
    });
  });
}

describe("links", () => {
  /** The anchor that a heading gets. */
  const anchor = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-");

  const anchorsOf = (page: string) => {
    const text = read(page).replace(/^```.*?^```$/gms, "");
    return new Set([...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchor(heading)));
  };

  test.each(pages)("of %s lead to files and headings that are there", (page) => {
    const targets = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
    const broken = targets.filter((target) => {
      if (/^[a-z]+:/.test(target)) return false;
      const [path = "", fragment] = target.split("#");
      const file = path === "" ? page : relative(root, resolve(root, dirname(page), path));
      if (file.startsWith("..") || !existsSync(join(root, file))) return true;
      return fragment !== undefined && !anchorsOf(file).has(fragment);
    });
    expect(broken).toEqual([]);
  });

  test("the index of docs/ names every page", () => {
    const index = read("docs/README.md");
    const missing = pages.filter((page) => /^docs\/[\w-]+\.md$/.test(page) && page !== "docs/README.md");
    expect(missing.filter((page) => !index.includes(`](${page.slice("docs/".length)})`))).toEqual([]);
  });

  test("the README has at most 150 lines", () => {
    expect(read("README.md").split("\n").length).toBeLessThanOrEqual(150);
  });

  test("the packed README links to nothing outside its package", () => {
    expect(prose("packages/sluice/README.md")).not.toContain("](..");
  });
});

describe("the tree", () => {
  test.each([
    { what: "a path of one machine", pattern: /(?<![\w.@~-])\/(?:work|root|home|Users)(?:\/|(?![\w/-]))/ },
    {
      what: "the address of a registry",
      pattern: /https?:\/\/[^\s"'`]*registry|"resolved": "https?:|registry\s*=\s*\S/i,
    },
    { what: "a token for a registry", pattern: /_auth(?:Token)?\s*=/ },
  ])("holds nowhere $what", ({ pattern }) => {
    const found = files.flatMap((file) =>
      read(file)
        .split("\n")
        .flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1} ${line.trim().slice(0, 100)}`] : [])),
    );
    expect(found).toEqual([]);
  });
});
