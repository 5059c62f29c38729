/** Load by wrk, on the other core: many connections, each asks again as soon as it is answered. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { DEBIAN, debianBinary } from "../../../test/rig/debian-binary.ts";
import { type ServerProcess, TOKEN } from "./contenders.ts";

export interface Load {
  readonly operation: "limit" | "multiLimit";
  /** Checks in one request. */
  readonly checks: number;
  /** Identifiers in random order out of so many. By default one after the other out of `KEYS`. */
  readonly randomOf?: number;
}

export interface Figure {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** What the server used of its core for one request. */
  readonly cpuUs: number;
  readonly failed: number;
}

const CONNECTIONS = 64;
const KEYS = 1_000;

export async function runLoad(server: ServerProcess, load: Load, seconds: number): Promise<Figure> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-wrk-"));
  const script = join(folder, "load.lua");
  writeFileSync(script, scriptOf(load));
  const before = server.cpuS;
  try {
    const args = ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "--latency", "-s", script, server.url];
    const { stdout } = await promisify(execFile)(debianBinary(DEBIAN.wrk), args);
    const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
    return {
      requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
      p50Ms: millisecondsOf(/50%\s+(\S+)/.exec(stdout)?.[1]),
      p99Ms: millisecondsOf(/99%\s+(\S+)/.exec(stdout)?.[1]),
      cpuUs: ((server.cpuS - before) / requests) * 1_000_000,
      failed: Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function scriptOf({ operation, checks, randomOf }: Load): string {
  const number = randomOf === undefined ? `n%${KEYS}` : `math.random(${randomOf})`;
  const item = `'{"namespace":"bench","identifier":"user_'..(${number})..'","limit":1000000000,"duration":60000}'`;
  const body =
    operation === "limit"
      ? `n=n+1; local body=${item}`
      : `local items={}; for i=1,${checks} do n=n+1; items[i]=${item} end; local body='['..table.concat(items,',')..']'`;
  return `wrk.method="POST"
wrk.headers["content-type"]="application/json"
wrk.headers["authorization"]="Bearer ${TOKEN}"
local n=0
request=function() ${body}; return wrk.format(nil,"/v2/ratelimit.${operation}",nil,body) end
`;
}

function millisecondsOf(text: string | undefined): number {
  const [, value, unit] = /^([\d.]+)(us|ms|s)$/.exec(text ?? "") ?? [];
  return Number(value) * (unit === "us" ? 0.001 : unit === "s" ? 1000 : 1);
}
