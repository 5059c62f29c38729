/**
 * A part of the lab: a long run, cut into chunks. A chunk that is done is not run again after an interruption.
 *
 * A part says which chunk comes next and what all of them come to. It runs nothing and stores nothing: run-part.ts does.
 */

/** The flags that change what a part does. */
export interface LabOptions {
  /** Simulated cluster-hours of the campaign. */
  readonly hours: number;
  /** Of the endurance run. */
  readonly minutes: number;
  /** Malformed requests. */
  readonly requests: number;
  /** How often each suite of chaos, attack and models is run. */
  readonly rounds: number;
  /** The first seed; undefined: the part chooses. */
  readonly seed: number | undefined;
  /** The version that mixed-versions upgrades from. */
  readonly from: string | undefined;
  /** Only these chunks: canaries, suites, or folders and files to mutate. Empty: all. */
  readonly only: readonly string[];
}

export interface Chunk {
  readonly id: string;
  /** The words after `node`, run from the root of the project. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A chunk that takes longer has failed. */
  readonly timeoutMs?: number;
  /** A line of its output that says how much of the chunk is done, from 0 to 1. */
  readonly progressOf?: (line: string) => number | undefined;
}

/** What is left of a chunk. */
export interface Done {
  readonly isGreen: boolean;
  /** What the program left in the file that SLUICE_LAB_RESULT names; null if it left nothing. */
  readonly data: unknown;
  /** Lines that a suite reported with `figure`. */
  readonly figures: readonly string[];
  /** The end of its output, where it failed. */
  readonly said: string;
}

export type DoneChunks = ReadonlyMap<string, Done>;

export interface Progress {
  readonly done: number;
  readonly total: number;
  /** `312 of 1,000 cluster-hours, 0 failures`. */
  readonly text: string;
}

export interface Conclusion {
  readonly isGreen: boolean;
  /** `1,003 simulated cluster-hours`. */
  readonly length: string;
  readonly figures: string;
  /** What to print if it failed. */
  readonly problems: readonly string[];
}

export interface Part {
  readonly name: string;
  /** One line for `--list`. */
  readonly summary: string;
  /** The flags it listens to. A run goes on where it was interrupted only if these are the same. */
  readonly flags: readonly (keyof LabOptions)[];
  /** Whether it runs the built packages. */
  readonly isOfBuild?: boolean;
  /** Chunks at once. */
  readonly atOnce: number;
  /** What is chosen once, at the beginning of a run, such as its first seed. Throws a UsageError if the flags do not fit. */
  begin(options: LabOptions): PartRun;
}

export interface PartRun {
  /** Kept with the state of an interrupted run, and given back by it. */
  readonly seed: number;
  /** The next chunk; undefined if nothing is left to start. `begun` are the ids of all that are done or running. */
  next(done: DoneChunks, begun: ReadonlySet<string>): Chunk | undefined;
  /** `partly` is the sum of the running chunks' fractions. */
  progress(done: DoneChunks, partly: number): Progress;
  /** May write the part's own page, if `isWhole`: all of the part was run. */
  conclude(done: DoneChunks, isWhole: boolean): Conclusion | Promise<Conclusion>;
}

export class UsageError extends Error {}

/** A run of a fixed list of chunks. */
export function listed(chunks: readonly Chunk[], unit: string): Pick<PartRun, "next" | "progress"> {
  return {
    next: (_done, begun) => chunks.find(({ id }) => !begun.has(id)),
    progress: (done, partly) => {
      const failed = chunks.filter(({ id }) => done.get(id)?.isGreen === false).length;
      const text = `${done.size} of ${chunks.length} ${unit}${failed > 0 ? `, ${failed} failed` : ""}`;
      return { done: done.size + partly, total: chunks.length, text };
    },
  };
}

/** Of a list of chunks: those that failed, with the end of what they said. */
export function problemsOf(done: DoneChunks): string[] {
  return [...done].flatMap(([id, { isGreen, said }]) => (isGreen ? [] : [`${id} failed:\n${said}`]));
}

/** Those that `--only` names. */
export function chosen(all: readonly string[], only: readonly string[], what: string): readonly string[] {
  const unknown = only.filter((name) => !all.includes(name));
  if (unknown.length > 0)
    throw new UsageError(`--only names ${unknown.join(", ")}, which is not a ${what}: ${all.join(", ")}`);
  return only.length === 0 ? all : all.filter((name) => only.includes(name));
}
