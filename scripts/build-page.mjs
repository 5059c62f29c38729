/** Builds packages/page into the server's package: one script, one style sheet, the document and its icon. Nothing is loaded from elsewhere. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build } from "rolldown";
import { root } from "./steps.mjs";

const here = join(root, "packages/page");
const folder = join(root, "packages/server/dist/ui");
const sheets = [
  createRequire(join(here, "package.json")).resolve("uplot/dist/uPlot.min.css"),
  join(here, "src/style/page.css"),
];

mkdirSync(folder, { recursive: true });
await build({
  input: join(here, "src/main.tsx"),
  platform: "browser",
  tsconfig: join(here, "tsconfig.json"),
  transform: { target: "es2022" },
  output: { file: join(folder, "page.js"), format: "esm", minify: true },
});
const style = sheets.map((path) => readFileSync(path, "utf8")).join("\n");
writeFileSync(join(folder, "page.css"), smaller(style));
for (const name of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", name), join(folder, name));

/**
 * Without comments and the blanks that mean nothing.
 *
 * @param {string} css
 */
function smaller(css) {
  return css
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([{};,]) ?/g, "$1")
    .replaceAll(";}", "}")
    .trim();
}
