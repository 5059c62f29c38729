/** Runs what is left of a part, several chunks at once, and keeps its state after each of them. */
import { join } from "node:path";
import type { Chunk, Conclusion, Done, LabOptions, Part } from "./part.ts";
import { type Out, ProgressLine, timeText } from "./progress-line.ts";
import { type ChunkPlace, runChunk } from "./run-chunk.ts";
import type { PartState, StateFolder } from "./state.ts";

export interface Lab {
  readonly root: string;
  /** The hash of the source: see source.ts. */
  readonly source: string;
  readonly state: StateFolder;
  readonly out: Out;
  /** Ctrl-C. */
  readonly stop: AbortSignal;
  /** Another one in tests. */
  readonly run?: (chunk: Chunk, place: ChunkPlace) => Promise<Done | undefined>;
}

export type Outcome =
  | { readonly kind: "interrupted" }
  | { readonly kind: "ended"; readonly conclusion: Conclusion; readonly ranMs: number; readonly wasDone: boolean };

/** `--only` has a state of its own: a try-out must not discard what a long run has done. */
export function stateName(part: Part, options: LabOptions): string {
  return options.only.length === 0 ? part.name : `${part.name}-only`;
}

/** What is kept of an earlier run that this one can continue: of the same source, with the same flags. */
export function stateToContinue(
  part: Part,
  options: LabOptions,
  lab: Pick<Lab, "source" | "state">,
): PartState | undefined {
  const state = lab.state.read(stateName(part, options));
  return state !== undefined && state.source === lab.source && state.flags === flagsOf(part, options)
    ? state
    : undefined;
}

export async function runPart(part: Part, options: LabOptions, lab: Lab): Promise<Outcome> {
  const name = stateName(part, options);
  const earlier = stateToContinue(part, options, lab);
  if (earlier?.conclusion?.isGreen === true)
    return { kind: "ended", conclusion: earlier.conclusion, ranMs: earlier.ranMs, wasDone: true };

  const run = part.begin(earlier === undefined ? options : { ...options, seed: earlier.seed });
  // A chunk that failed is run again.
  const done = new Map(Object.entries(earlier?.chunks ?? {}).filter(([, one]) => one.isGreen));
  if (done.size > 0) lab.out.write(`${part.name.padEnd(14)}  continues; done before: ${done.size} chunks\n`);
  const begun = new Set(done.keys());
  const fractions = new Map<string, number>();
  const beganMs = performance.now();
  const ranMs = () => (earlier?.ranMs ?? 0) + performance.now() - beganMs;
  const save = (conclusion?: Conclusion) =>
    lab.state.write(name, {
      source: lab.source,
      flags: flagsOf(part, options),
      seed: run.seed,
      chunks: Object.fromEntries(done),
      ranMs: ranMs(),
      ...(conclusion === undefined ? {} : { conclusion }),
    });
  save();

  const partly = () => [...fractions.values()].reduce((sum, fraction) => sum + fraction, 0);
  const line = new ProgressLine(lab.out, part.name, () => run.progress(done, partly()));
  const launch = lab.run ?? runChunk;
  const lane = async () => {
    for (;;) {
      const chunk = lab.stop.aborted ? undefined : run.next(done, begun);
      if (chunk === undefined) return;
      begun.add(chunk.id);
      const onProgress = (fraction: number) => fractions.set(chunk.id, Math.min(1, fraction));
      const folder = join(lab.state.path, name);
      const ended = await launch(chunk, { root: lab.root, folder, stop: lab.stop, onProgress });
      fractions.delete(chunk.id);
      if (ended === undefined) return;
      done.set(chunk.id, ended);
      save();
    }
  };
  try {
    await Promise.all(Array.from({ length: part.atOnce }, lane));
  } finally {
    line.end();
  }
  if (lab.stop.aborted) {
    save();
    const { text } = run.progress(done, 0);
    lab.out.write(
      `${part.name.padEnd(14)}  interrupted after ${timeText(ranMs())}: ${text}; the same command continues\n`,
    );
    return { kind: "interrupted" };
  }
  const conclusion = await run.conclude(done, options.only.length === 0);
  save(conclusion);
  return { kind: "ended", conclusion, ranMs: ranMs(), wasDone: false };
}

function flagsOf(part: Part, options: LabOptions): string {
  return JSON.stringify(part.flags.map((flag) => [flag, options[flag] ?? null]));
}
