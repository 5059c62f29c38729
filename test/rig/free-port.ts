/** Ports that nobody uses: given by the system, from its private range, and asked for once each. */
import { createServer } from "node:net";

const given = new Set<number>();
/** A Redis Cluster node listens here as well: its port and 10,000. */
const BUS_OFFSET = 10_000;
const PORT_MAX = 65_535;

async function isFree(port: number): Promise<boolean> {
  return (await listenOn(port)) === port;
}

/** The port that could be listened on, 0: any; or undefined. */
function listenOn(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? address?.port : undefined));
    });
  });
}

export async function freePort(options: { readonly hasBus?: boolean } = {}): Promise<number> {
  for (;;) {
    const port = await listenOn(0);
    if (port === undefined || given.has(port)) continue;
    const isUsable = options.hasBus !== true || (port + BUS_OFFSET <= PORT_MAX && (await isFree(port + BUS_OFFSET)));
    if (!isUsable) continue;
    given.add(port);
    return port;
  }
}
