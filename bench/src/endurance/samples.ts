/** What the server is made of, looked at every few seconds: memory, file descriptors, processor; and whether it grows. */
import { readdirSync } from "node:fs";

export interface Sample {
  readonly minute: number;
  readonly rssMib: number;
  readonly heapMib: number;
  readonly fds: number;
  readonly cells: number;
  readonly dirtyCells: number;
  readonly cpuS: number;
}

const MIB = 2 ** 20;

export class Metrics {
  readonly #series: readonly (readonly [string, number])[];

  private constructor(text: string) {
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    this.#series = lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    });
  }

  static async of(opsUrl: string): Promise<Metrics> {
    return new Metrics(await (await fetch(`${opsUrl}/metrics`)).text());
  }

  /** All series of that name, added up. */
  sum(name: string, labels = ""): number {
    const isOf = (series: string) => series.startsWith(`${name}{`) && series.includes(labels);
    return this.#series.reduce((total, [series, value]) => total + (isOf(series) ? value : 0), 0);
  }
}

export async function sample(opsUrl: string, pid: number, minute: number): Promise<Sample> {
  const metrics = await Metrics.of(opsUrl);
  return {
    minute,
    rssMib: metrics.sum("process_resident_memory_bytes") / MIB,
    heapMib: metrics.sum("nodejs_heap_size_used_bytes") / MIB,
    fds: readdirSync(`/proc/${pid}/fd`).length,
    cells: metrics.sum("sluice_cells"),
    dirtyCells: metrics.sum("sluice_origin_dirty_cells"),
    cpuS: metrics.sum("process_cpu_seconds_total"),
  };
}

/** By least squares: how much y rises a unit of x. */
export function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (pick: 0 | 1) => points.reduce((total, point) => total + point[pick], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  let [above, below] = [0, 0];
  for (const [x, y] of points) {
    above += (x - meanX) * (y - meanY);
    below += (x - meanX) ** 2;
  }
  return below === 0 ? 0 : above / below;
}
