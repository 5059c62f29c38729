/**
 * Refuses the worst mannerisms in everything that the server says to a user, and in the error table of the library.
 *
 * It reads every string of the source. Problem texts, help, descriptions of settings and metrics, log fields, findings of the doctor and the
 * OpenAPI document are all built from these strings, so a new table needs no new case here. Comments and identifiers are not checked.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const server = join(root, "packages", "server", "src");
const errorTable = join(root, "packages", "sluice", "src", "core", "errors.ts");

/** What to write instead, by the words that are refused. */
const MANNERISMS: readonly (readonly [RegExp, string])[] = [
  [/\banew\b/, "again"],
  [/\blately\b/, "recently"],
  [/\ball the same\b/, "anyway"],
  [/\bmeanwhile\b/, "in that time, or nothing"],
  [/\bof (its|their) own\b/, "its own, their own, or separate"],
  [/\bby (itself|themselves)\b/, "alone, on its own"],
  [/\b(is|that is|are) none\b/, "is not a …"],
  [/(?<!\b[Tt]here )\bis no [a-z]/, "is not a …"],
  [/\bwill not do\b/, "is not supported"],
  [/\bcannot be meant\b/, "is invalid"],
  [/\balso (where|while|when|if)\b/, "even if, even when"],
  [/\b(without|on) a(nother)? (\w+'s )?word\b/, "without a report"],
  [/\bagain and again\b/, "retrying"],
  [/(?<!\buser )\b(who|whoever) (has|have|reaches|asks|is|was|may)\b/, "name the thing: requests without a key"],
  [/\b(nobody|somebody|everybody)\b/, "name the thing: no request, another process"],
  [/\b(is|are|was|were|be) (asked|told)\b/, "gets, receives, reports"],
  [/\b(hear|hears|heard|tell|tells)\b/, "receive, report, exchange"],
  [/\b(goes|went|go) away\b|\b(comes|came|come) back\b/, "become unavailable, recover"],
  [/\b(mend|hunted|excuse)\b/, "fix, tested, exempt"],
  [
    /\b(requests|commands|statements|rows|bytes|keys|limits?) an? (second|minute|window|region|process|key|cell)\b/,
    "per",
  ],
  [/\b(the )?most that\b|\bthe least that\b/, "maximum, minimum"],
  [/\bwith commas between\b/, "separated by commas"],
  [/\bmay go on\b/, "is allowed"],
  [/\bmust be here whole\b/, "maximum time to receive a complete request"],
];

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

interface Sentence {
  readonly place: string;
  readonly text: string;
}

/** Every string with a space in it; of a template, the parts between its values, joined. */
function sentencesOf(path: string, source: string): Sentence[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const sentences: Sentence[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    if (text?.includes(" ") === true) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      sentences.push({ place: `${relative(root, path)}:${line + 1}`, text });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return sentences;
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("…");
}

function mannerismsIn(sentences: readonly Sentence[]): string[] {
  return sentences.flatMap(({ place, text }) =>
    MANNERISMS.filter(([words]) => words.test(text)).map(
      ([words, instead]) => `${place}: ${JSON.stringify(text)} has "${words.exec(text)![0]}"; write: ${instead}`,
    ),
  );
}

const sources = filesBelow(server).filter(
  (path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.endsWith("-conformance.ts"),
);
const sentencesOfFile = (path: string) => sentencesOf(path, readFileSync(path, "utf8"));

describe("plain English", () => {
  test("no text of the server has a mannerism", () => {
    const sentences = sources.flatMap(sentencesOfFile);
    expect(sentences.length).toBeGreaterThan(500);
    expect(mannerismsIn(sentences)).toEqual([]);
  });

  test("no text of the library's error table has a mannerism", () => {
    const sentences = sentencesOfFile(errorTable);
    expect(sentences.length).toBeGreaterThan(20);
    expect(mannerismsIn(sentences)).toEqual([]);
  });

  test.each([
    ["a plain string", 'const text = "renew it, and start the server anew";', "anew"],
    ["a template", "const text = `no response for \u0024{seconds} s, asked again and again`;", "again and again"],
    ["an option of a call", 'fail({ text: "which is no loopback address" });', "is no l"],
  ])("a mannerism in %s is found", (_where, source, words) => {
    expect(mannerismsIn(sentencesOf(join(server, "planted.ts"), source))).toEqual([
      expect.stringMatching(new RegExp(`^packages/server/src/planted\\.ts:1: .* has "${words}"`)),
    ]);
  });
});
