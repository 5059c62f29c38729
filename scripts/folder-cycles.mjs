/**
 * Cycles between folders: two folders that import each other are one folder in two places.
 *
 *   node scripts/folder-cycles.mjs
 *
 * Each folder is checked separately: its subfolders, each with everything inside it, and its own files, written as ".". An import
 * counts in the folder that is the nearest one above both files. Tests are left out: they may import from anywhere. Type imports count.
 *
 * dependency-cruiser has rules with the scope "folder", but for them a folder never imports what is inside it: they find no cycle
 * between a folder's own files and one of its subfolders. Which folder may import which is stated in .dependency-cruiser.mjs.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { root } from "./steps.mjs";

/** The folders that are checked, with all folders inside them. */
const CHECKED = ["packages/sluice/src", "packages/sim/src", "packages/server/src"];
const TEST = /(\.test(-d)?|-conformance)\.ts$/;

/** @typedef {{ readonly from: string, readonly to: string }} Import paths of two files */

/**
 * The imports between the source files of a folder.
 *
 * @param {string} folder
 * @returns {Import[]}
 */
function importsIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !TEST.test(name))
    .map((name) => join(folder, name.replaceAll("\\", "/")))
    .flatMap((from) =>
      ts
        .preProcessFile(readFileSync(join(root, from), "utf8"))
        .importedFiles.filter(({ fileName }) => fileName.startsWith("."))
        .map(({ fileName }) => ({ from, to: join(dirname(from), fileName) })),
    );
}

/**
 * Where an import counts: the nearest folder above both files, and the two parts of it that the import connects.
 *
 * @param {Import} one
 */
function placeOf({ from, to }) {
  const [a, b] = [from.split("/"), to.split("/")];
  let depth = 0;
  while (depth < a.length - 1 && depth < b.length - 1 && a[depth] === b[depth]) depth++;
  const partOf = (/** @type {string[]} */ path) => (depth === path.length - 1 ? "." : path[depth]);
  return { folder: a.slice(0, depth).join("/"), from: partOf(a) ?? ".", to: partOf(b) ?? "." };
}

/**
 * One sentence per cycle, with an import for each of its steps.
 *
 * @param {readonly Import[]} imports
 * @returns {string[]}
 */
export function folderCycles(imports) {
  /** @type {Map<string, Map<string, Map<string, Import>>>} folder -> part -> part that it imports -> an import that does */
  const folders = new Map();
  for (const one of imports) {
    const { folder, from, to } = placeOf(one);
    if (from === to) continue;
    const parts = folders.get(folder) ?? new Map();
    folders.set(folder, parts);
    parts.set(from, (parts.get(from) ?? new Map()).set(to, one));
  }
  return [...folders].flatMap(([folder, parts]) =>
    cyclesOf(parts).map((cycle) => {
      const steps = cycle.map((part, i) => parts.get(part)?.get(cycle[(i + 1) % cycle.length] ?? ""));
      const lines = steps.map((step) => `\n  ${step?.from} imports ${step?.to}`);
      return `${folder}: ${[...cycle, cycle[0]].join(" -> ")}${lines.join("")}`;
    }),
  );
}

/**
 * A shortest cycle through each part that is in one, and no part twice.
 *
 * @param {ReadonlyMap<string, ReadonlyMap<string, unknown>>} parts
 */
function cyclesOf(parts) {
  /** @type {string[][]} */
  const cycles = [];
  for (const start of parts.keys()) {
    if (cycles.some((cycle) => cycle.includes(start))) continue;
    const cycle = wayBack(parts, start);
    if (cycle !== undefined) cycles.push(cycle);
  }
  return cycles;
}

/**
 * @param {ReadonlyMap<string, ReadonlyMap<string, unknown>>} parts
 * @param {string} start
 */
function wayBack(parts, start) {
  const seen = new Set();
  const ways = [[start]];
  for (const way of ways) {
    for (const next of parts.get(way.at(-1) ?? start)?.keys() ?? []) {
      if (next === start) return way;
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const cycles = folderCycles(CHECKED.flatMap(importsIn));
  for (const cycle of cycles) console.log(cycle);
  process.exitCode = cycles.length === 0 ? 0 : 1;
}
