/** docs/canaries.md, written by a run of every canary. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Caught } from "./catch.ts";

const path = fileURLToPath(new URL("../../docs/canaries.md", import.meta.url));

const head = `# Canaries

Deliberate mistakes in the engine, the layers and the checker, to show that the simulator would notice a real one. Each is a
small patch of the source ([test/canaries](../test/canaries)), made while the simulator is bundled for a process of its own; then
worlds of fresh seeds are run until an invariant notices. Each must be caught within 60 s and 500 seeds, and the same world
of the sound source must be flawless. A checker that is made blind is noticed because the canary beside it goes uncaught; one
that alarms for nothing, because sound code fails.

Seconds are the processor's, from the start of that process: what else the machine does changes nothing.

Written by \`npm run lab -- canaries\`; again with the same worlds: \`npm run lab -- canaries --fresh --seed SEED\`.
`;

export function writeTable(base: number, caught: readonly Caught[]): void {
  const rows = caught.map(
    ({ name, breaks, noticedBy, seeds, seconds }) =>
      `| \`${name}\` | ${breaks} | ${noticedBy} | ${seeds} | ${seconds.toFixed(1)} |`,
  );
  const seconds = caught.reduce((sum, one) => sum + one.seconds, 0);
  const summary = `${caught.length} canaries, all caught, from seed ${base}; ${seconds.toFixed(0)} s of search in all.`;
  const table = [
    "| canary | what is broken | noticed by | seeds | seconds |",
    "| --- | --- | --- | ---: | ---: |",
    ...rows,
  ];
  writeFileSync(path, [head, summary, "", ...table, ""].join("\n"));
}
