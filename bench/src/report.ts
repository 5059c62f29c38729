/** The figures as Markdown: what was measured and how, on which machine, the tables, and the targets. */
import { readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { type Case, cases } from "./cases.ts";
import { type Contender, contenders, FLOOR } from "./contenders.ts";
import type { Flags } from "./flags.ts";
import type { LayerFigure } from "./layers.ts";
import type { MemoryFigure } from "./memory.ts";
import type { SpeedFigure } from "./speed.ts";
import type { StallFigure } from "./stalls.ts";
import { markdownTable } from "./table.ts";
import { verdicts } from "./targets.ts";
import type { Figures } from "./task.ts";

export function report(figures: Figures, flags: Flags, now: Date): string {
  const parts = ["# Benchmarks", machine(flags, now)];
  if (flags.isQuick) parts.push("**Tiny inputs (`--quick`): these figures mean nothing.**");
  if (figures.speed.length > 0) parts.push(speedPart(figures.speed));
  if (figures.speed.length > 0 && !flags.isQuick) parts.push(targetsPart(figures.speed));
  if (figures.memory.length > 0) parts.push(memoryPart(figures.memory));
  if (figures.layers.length > 0) parts.push(layersPart(figures.layers));
  if (figures.stalls.length > 0) parts.push(stallsPart(figures.stalls));
  return `${parts.join("\n\n")}\n`;
}

function machine({ rounds, starts, seed }: Flags, now: Date): string {
  const cores = cpus();
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  return [
    `${cores.length} cores of ${cores[0]?.model ?? "an unknown processor"}, ${memoryGb} GB;`,
    `Node ${process.versions.node} on ${process.platform} ${process.arch}; ${now.toISOString().slice(0, 10)}.`,
    `\`npm run bench -- --rounds ${rounds} --starts ${starts} --seed ${seed}\` makes this page with \`--write\`.`,
  ].join("\n");
}

const SPEED_TEXT = `## Time per call

Nanoseconds per operation, and the ratio to the floor: one \`Map\` look-up, one clock read, one counter raised, one
result object. Every package's in-memory limiter or store is called directly, without HTTP, as its middleware calls it.
Synchronous contenders run in a loop without \`await\`; those marked *async* are awaited call by call. All contenders take
turns inside one process, in slices of some 20 ms and an order shuffled every round; each figure is the median over the
rounds, then over several process starts. Every contender runs its own copy of the timed loop. Before, during and after
timing it has to give the answer the case is about, and its count has to be right.

- Keys look like \`user_123456\`. Except in the two columns that say otherwise, they are the very string objects the table
  was filled with: V8 caches a string's hash inside the string, and two pointers to one string compare at once. That
  flatters every \`Map\`, the floor first. *New strings* asks for the same keys in new string objects, just made, as each
  HTTP request brings them.
- *Denied*: a limit of 10, used up. Everywhere else the limit is never reached.
- *Batch*: one operation is four keys. Those without a batch make four calls, and do not get all-or-nothing for it.`;

function speedPart(figures: readonly SpeedFigure[]): string {
  const measured = cases.filter(({ name }) => figures.some(({ caseName }) => caseName === name));
  const rows = contenders
    .filter(({ name }) => figures.some(({ contender }) => contender === name))
    .map((contender) => [label(contender), ...measured.map((subject) => speedCell(contender, subject, figures))]);
  const header = ["", ...measured.map(({ title }) => title)];
  return [SPEED_TEXT, markdownTable(header, rows), speedNotes()].join("\n\n");
}

function speedCell({ name }: Contender, subject: Case, figures: readonly SpeedFigure[]): string {
  const nsOf = (wanted: string): number | undefined => {
    return figures.find(({ caseName, contender }) => caseName === subject.name && contender === wanted)?.ns;
  };
  const ns = nsOf(name);
  const floor = nsOf(FLOOR);
  if (ns === undefined) return "–";
  return floor === undefined ? inThousands(ns) : `${inThousands(ns)} (${(ns / floor).toFixed(2)})`;
}

function speedNotes(): string {
  return contenders
    .filter(({ hitsPerKeyMax }) => hitsPerKeyMax !== undefined)
    .map(({ name, hitsPerKeyMax = 0 }) => {
      const hits = inThousands(hitsPerKeyMax);
      return `- ${name} keeps a time per hit and slows down with each: *one key, allowed* is a mean of ${hits} hits.`;
    })
    .join("\n");
}

function targetsPart(figures: readonly SpeedFigure[]): string {
  const rows = verdicts(figures).map(({ target, measured, isMet }) => [target, measured, isMet ? "met" : "**missed**"]);
  return rows.length === 0 ? "" : ["## Targets", markdownTable(["target", "measured", ""], rows)].join("\n\n");
}

const MEMORY_TEXT = `## Memory per key

Growth of the resident memory of a process that holds one table and fills it with keys built on the fly, divided by the
keys; full collections before and after.`;

function memoryPart(figures: readonly MemoryFigure[]): string {
  const rows = figures.map(({ contender, keys, bytesPerKey }) => {
    const known = contenders.find(({ name }) => name === contender);
    return [known === undefined ? contender : label(known), inThousands(keys), inThousands(bytesPerKey)];
  });
  return [MEMORY_TEXT, markdownTable(["", "keys", "bytes per key"], rows)].join("\n\n");
}

const LAYERS_TEXT = `## What the layers cost a decision

A rule on warm keys, in a bare limiter and in one with an origin and global counters attached, each in processes of its own
that take turns. To reach: at most 1.3 times the bare one.`;

function layersPart(figures: readonly LayerFigure[]): string {
  const bareNs = (keys: number): number | undefined => {
    return figures.find((figure) => figure.subject === "bare" && figure.keys === keys)?.ns;
  };
  const rows = figures.map(({ subject, keys, ns }) => {
    const ratio = ns / (bareNs(keys) ?? ns);
    return [subject, inThousands(keys), inThousands(ns), ratio.toFixed(2)];
  });
  return [LAYERS_TEXT, markdownTable(["", "keys", "ns", "ratio"], rows)].join("\n\n");
}

const STALLS_TEXT = `## Stalls of the event loop

A table is filled in turns of about 1 ms of work each. Given is the longest time from the begin of one turn to the begin of
the next, and what one turn in a thousand exceeds. Then nothing is asked any more, while Sluice's cells end and are swept in
the background. *No table* makes the same keys and drops them: what it shows is the machine's and the collector's.`;

function stallsPart(figures: readonly StallFigure[]): string {
  const rows = figures.map(({ subject, keys, fill, sweep, cellsSwept }) => [
    subject,
    inThousands(keys),
    fill.maxMs.toFixed(1),
    fill.p999Ms.toFixed(1),
    sweep.maxMs.toFixed(1),
    inThousands(cellsSwept),
  ]);
  const header = ["", "keys", "fill, longest ms", "fill, 99.9 % ms", "afterwards, longest ms", "cells swept"];
  return [STALLS_TEXT, markdownTable(header, rows)].join("\n\n");
}

function label({ name, packageName, window, isAsync }: Contender): string {
  const version = packageName === undefined ? "" : ` ${versions[packageName] ?? ""}`;
  return `${name}${version} (${window}${isAsync ? ", *async*" : ""})`;
}

/** The exact versions that package.json pins. */
const { dependencies: versions } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  dependencies: Record<string, string>;
};

function inThousands(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
