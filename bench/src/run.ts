/** Runs the chosen sections, each in processes of its own, one after another. Progress goes to standard error. */
import { type CaseName, cases } from "./cases.ts";
import { contenders, DECIDE } from "./contenders.ts";
import type { Flags } from "./flags.ts";
import { type LayerFigure, layerSubjects } from "./layers.ts";
import { median } from "./median.ts";
import { spawnTask } from "./spawn-task.ts";
import type { SpeedFigure, SpeedOptions } from "./speed.ts";
import { stallSubjects } from "./stalls.ts";
import { type Figures, noFigures, type Task } from "./task.ts";

const MEMORY_KEYS = 1_000_000;
/** Sizes that only Sluice is filled to: a `Map` ends at 16.7 million, and most peers long before. */
const MEMORY_KEYS_LARGE = [4_000_000, 10_000_000];

const LAYER_KEYS = [1, 1_000];

const STALL_KEYS = 4_000_000;
/** Longer than the fill takes, or the table would never hold all the keys. */
const STALL_DURATION_MS = 10_000;
/** Cells are over 20 s after they began at the latest; as much again for sweeps to be seen. */
const STALL_SWEEP_MS = 40_000;

export async function run(flags: Flags): Promise<Figures> {
  const figures = noFigures();
  figures.speed.push(...(await runSpeed(flags)));
  if (flags.sections.includes("memory")) {
    for (const task of memoryTasks(flags)) {
      progress(`memory: ${task.contenders.join(", ")} at ${task.keys} keys`);
      figures.memory.push(...(await spawnTask(task)).memory);
    }
  }
  if (flags.sections.includes("layers")) figures.layers.push(...(await runLayers(flags)));
  if (flags.sections.includes("stalls")) {
    for (const task of stallTasks(flags)) {
      progress(`stalls: ${task.subjects.join(", ")}`);
      figures.stalls.push(...(await spawnTask(task)).stalls);
    }
  }
  return figures;
}

async function runSpeed(flags: Flags): Promise<SpeedFigure[]> {
  const chosen = cases.map(({ name }) => name).filter((name) => flags.sections.includes(name));
  // Trying out the benchmark needs no isolation, and seven processes take longer to start than to run.
  const groups: CaseName[][] = flags.isQuick ? [chosen] : chosen.map((name) => [name]);
  const figures: SpeedFigure[] = [];
  for (const caseNames of groups.filter((group) => group.length > 0)) {
    const starts: SpeedFigure[][] = [];
    for (let start = 0; start < flags.starts; start++) {
      progress(`${caseNames.join(", ")}: start ${start + 1} of ${flags.starts}`);
      const options = speedOptions(flags, start);
      starts.push((await spawnTask({ kind: "speed", caseNames, options })).speed);
    }
    figures.push(...mediansOverStarts(starts));
  }
  return figures;
}

function speedOptions({ isQuick, seed, rounds }: Flags, start: number): SpeedOptions {
  return isQuick
    ? { seed: seed + start, rounds, warmupRounds: 1, sliceMs: 0.2, scale: 0.001 }
    : { seed: seed + start, rounds, warmupRounds: 6, sliceMs: 20, scale: 1 };
}

/** Every start measured the same contenders in the same order. */
function mediansOverStarts(starts: readonly SpeedFigure[][]): SpeedFigure[] {
  return starts[0]!.map((figure, i) => ({ ...figure, ns: median(starts.map((start) => start[i]!.ns)) }));
}

function memoryTasks({ isQuick }: Flags): Extract<Task, { kind: "memory" }>[] {
  const names = contenders.filter(({ hasOwnTable }) => hasOwnTable).map(({ name }) => name);
  if (isQuick) return [{ kind: "memory", contenders: names, keys: 1000 }];
  return [
    ...names.map((name) => ({ kind: "memory" as const, contenders: [name], keys: MEMORY_KEYS })),
    ...MEMORY_KEYS_LARGE.map((keys) => ({ kind: "memory" as const, contenders: [DECIDE], keys })),
  ];
}

/** Bare and layered take turns, a process each, so that a machine that slows down meets both alike. */
async function runLayers({ isQuick, starts }: Flags): Promise<LayerFigure[]> {
  const figures: LayerFigure[] = [];
  for (const keys of LAYER_KEYS) {
    const options = isQuick ? { keys, slices: 1, callsPerSlice: 1_000 } : { keys, slices: 25, callsPerSlice: 100_000 };
    const measured: LayerFigure[] = [];
    for (let start = 0; start < starts; start++) {
      for (const subject of layerSubjects) {
        progress(`layers: ${subject}, ${keys} keys, start ${start + 1} of ${starts}`);
        measured.push(...(await spawnTask({ kind: "layers", subject, options })).layers);
      }
    }
    for (const subject of layerSubjects) {
      const ns = median(measured.filter((figure) => figure.subject === subject).map((figure) => figure.ns));
      figures.push({ subject, keys, ns });
    }
  }
  return figures;
}

function stallTasks({ isQuick }: Flags): Extract<Task, { kind: "stalls" }>[] {
  const options = isQuick
    ? { keys: 10_000, durationMs: 1000, sweepMs: 100 }
    : { keys: STALL_KEYS, durationMs: STALL_DURATION_MS, sweepMs: STALL_SWEEP_MS };
  if (isQuick) return [{ kind: "stalls", subjects: stallSubjects, options }];
  return stallSubjects.map((subject) => ({ kind: "stalls" as const, subjects: [subject], options }));
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
