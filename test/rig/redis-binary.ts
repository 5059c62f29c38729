/** The server that suites run on: `SLUICE_REDIS` if it is set, else Debian's redis-server, else Valkey's. */
import { DEBIAN, debianBinary, prepareBinaries } from "./debian-binary.ts";

let found: string | undefined;

if (process.env["SLUICE_REDIS"] === undefined) prepareBinaries(DEBIAN.redis);

/** The path of a server. */
export function redisBinary(): string {
  found ??= process.env["SLUICE_REDIS"] ?? debianBinary(DEBIAN.redis);
  return found;
}
