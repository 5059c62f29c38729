/** Worlds that failed once (test/sim/corpus.json). Every campaign repeats them first. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CorpusWorld } from "@sluice/sim";

const path = fileURLToPath(new URL("corpus.json", import.meta.url));

export function readCorpus(): CorpusWorld[] {
  return JSON.parse(readFileSync(path, "utf8")) as CorpusWorld[];
}

/** Commit the file with the change that fixes the world. */
export function rememberFailure({ seed, options, story }: CorpusWorld): void {
  const corpus = readCorpus();
  if (corpus.some((world) => world.seed === seed)) return;
  corpus.push({ seed, options, story });
  writeFileSync(path, `${JSON.stringify(corpus, undefined, 2)}\n`);
}
