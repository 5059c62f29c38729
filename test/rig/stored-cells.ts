/** What really stands in a Redis, read past the driver. */
import type { RedisServer } from "./redis-server.ts";

export interface StoredCell {
  readonly name: string;
  readonly sum: number;
  /** By writer. */
  readonly components: Readonly<Record<string, number>>;
}

const KEYS_PER_SCAN = 1_000;

/** All cells, without heartbeats. */
export async function storedCells(server: RedisServer, prefix = "sluice:"): Promise<StoredCell[]> {
  const names: string[] = [];
  let cursor = "0";
  do {
    const answer = await server.ask("SCAN", cursor, "MATCH", `${prefix}1:{[0-9#]*`, "COUNT", KEYS_PER_SCAN);
    const [next, keys] = answer as [string, string[]];
    cursor = next;
    names.push(...keys);
  } while (cursor !== "0");
  return Promise.all([...new Set(names)].map((name) => storedCell(server, name)));
}

async function storedCell(server: RedisServer, name: string): Promise<StoredCell> {
  const fields = Object.entries(await server.client.hash(name));
  const components = fields.flatMap(([field, total]) =>
    field.startsWith("w:") ? [[field.slice(2), Number(total)] as const] : [],
  );
  const sum = Number(fields.find(([field]) => field === "t")?.[1] ?? 0);
  return { name, sum, components: Object.fromEntries(components) };
}

/** Everything that is counted, by the sums; throws if a sum is not that of its components. */
export async function storedTotal(server: RedisServer, prefix?: string): Promise<number> {
  let total = 0;
  for (const { name, sum, components } of await storedCells(server, prefix)) {
    const parts = Object.values(components).reduce((a, b) => a + b, 0);
    if (parts !== sum) throw new Error(`${name}: the sum is ${sum}, its components have ${parts}`);
    total += sum;
  }
  return total;
}
