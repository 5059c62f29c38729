/** What the server is made of, looked at every few seconds: memory, file descriptors, processor; and whether it grows. */
import { readdirSync } from "node:fs";
import type { SluiceServer } from "../../../test/rig/sluice-server.ts";

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

export async function sample(server: SluiceServer, minute: number): Promise<Sample> {
  const metrics = await server.metrics();
  const of = (name: string) => metrics.sum(name) ?? 0;
  return {
    minute,
    rssMib: of("process_resident_memory_bytes") / MIB,
    heapMib: of("nodejs_heap_size_used_bytes") / MIB,
    fds: readdirSync(`/proc/${server.child.pid}/fd`).length,
    cells: of("sluice_cells"),
    dirtyCells: of("sluice_origin_dirty_cells"),
    cpuS: of("process_cpu_seconds_total"),
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
