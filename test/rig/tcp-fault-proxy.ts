/**
 * A proxy that knows nothing of what it carries, and does to connections what networks do: delays, black holes, resets, cuts.
 *
 * Lasting troubles are fields and hold for every connection. fault-proxy.ts knows Redis's frames, and does more.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

export class TcpFaultProxy {
  /** Added to each direction. */
  delayMs = 0;
  /** Nothing passes in either direction; connections stay open. What comes meanwhile is lost, and so are they in the end. */
  isBlackhole = false;
  /** New connections are closed at once. */
  isRefusing = false;
  /** Said behind all that comes from upstream, in one piece with it. */
  lastWords: Buffer | null = null;
  readonly #server: Server;
  readonly #upstreamPort: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();

  private constructor(upstreamPort: number) {
    this.#upstreamPort = upstreamPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(upstreamPort: number): Promise<TcpFaultProxy> {
    const proxy = new TcpFaultProxy(upstreamPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", () => resolve()));
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" ? (address?.port ?? 0) : 0;
  }

  /** Every connection is reset. */
  reset(): void {
    for (const [client, upstream] of this.#pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  /** Every connection is ended, as by a server that goes. */
  cut(): void {
    for (const [client, upstream] of this.#pairs) {
      client.end();
      upstream.destroy();
    }
  }

  async stop(): Promise<void> {
    this.reset();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(client: Socket): void {
    if (this.isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ port: this.#upstreamPort, host: "127.0.0.1", noDelay: true });
    client.setNoDelay(true);
    const pair = [client, upstream] as const;
    this.#pairs.add(pair);
    for (const [socket, other] of [pair, [upstream, client] as const]) {
      socket.on("data", (chunk) => {
        const hasMore = this.lastWords !== null && socket === upstream;
        this.#pass(other, hasMore ? Buffer.concat([chunk, this.lastWords!]) : chunk);
      });
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#pairs.delete(pair);
        // A black hole tells nobody that the other side is gone.
        if (!this.isBlackhole) other.destroy();
      });
    }
  }

  #pass(to: Socket, chunk: Buffer): void {
    if (this.isBlackhole) return;
    const write = () => {
      if (!to.destroyed) to.write(chunk);
    };
    if (this.delayMs === 0) write();
    else setTimeout(write, this.delayMs);
  }
}
