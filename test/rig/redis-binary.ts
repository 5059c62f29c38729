/** The server that suites run on: `SLUICE_REDIS` if it is set, else Debian's redis-server, else Valkey's. */
import { debianBinary } from "./debian-binary.ts";

let found: string | undefined;

/** The path of a server. */
export function redisBinary(): string {
  found ??=
    process.env["SLUICE_REDIS"] ?? debianBinary({ names: ["redis-server", "valkey-server"], package: "redis-server" });
  return found;
}
