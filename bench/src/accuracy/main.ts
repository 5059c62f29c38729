/** `npm run accuracy`: the sliding window beside an exact log, on ten traffic shapes; with `--write` into docs/. */
import { mkdir, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { accuracyPage, measureAll } from "./page.ts";
import { plotAccuracy } from "./plot.ts";

const DOCS = new URL("../../../docs/", import.meta.url);

const { values } = parseArgs({ options: { write: { type: "boolean" } }, strict: true });
const figures = measureAll((shape) => process.stderr.write(`${shape}\n`));
const text = accuracyPage(figures);
process.stdout.write(text);
if (values.write === true) {
  await mkdir(new URL("plots/", DOCS), { recursive: true });
  await writeFile(new URL("accuracy.md", DOCS), text);
  await writeFile(new URL("plots/accuracy.svg", DOCS), plotAccuracy(figures));
}
