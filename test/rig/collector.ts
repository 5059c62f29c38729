/** A real collector of traces, as far as a test needs one: OTLP over HTTP in JSON, kept in memory. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly beganNs: bigint;
  readonly endedNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: number;
  /** What it is a span of. */
  readonly resource: Readonly<Record<string, unknown>>;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Record<string, unknown>[] }[];
  }[];
}

export class Collector {
  readonly spans: CollectedSpan[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly bodies: string[] = [];
  /** What it answers. */
  status = 200;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on("end", () => {
        const isHere = request.url === "/v1/traces" && request.method === "POST";
        if (isHere && this.status === 200) {
          this.headers.push(request.headers);
          this.bodies.push(body);
          this.spans.push(...spansIn(JSON.parse(body) as OtlpBody));
        }
        response.writeHead(isHere ? this.status : 404, { "content-type": "application/json" }).end("{}");
      });
    });
  }

  static async start(port = 0): Promise<Collector> {
    const collector = new Collector();
    await new Promise<void>((resolve) => collector.#server.listen(port, "127.0.0.1", resolve));
    return collector;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function spansIn({ resourceSpans }: OtlpBody): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: String(span["traceId"]),
        spanId: String(span["spanId"]),
        ...(span["parentSpanId"] === undefined ? {} : { parentSpanId: String(span["parentSpanId"]) }),
        name: String(span["name"]),
        kind: Number(span["kind"]),
        beganNs: BigInt(String(span["startTimeUnixNano"])),
        endedNs: BigInt(String(span["endTimeUnixNano"])),
        attributes: attributesIn(span["attributes"] as OtlpAttribute[]),
        status: (span["status"] as { code: number }).code,
        resource: attributesIn(resource.attributes),
      })),
    ),
  );
}

function attributesIn(attributes: readonly OtlpAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueIn(value)]));
}

function valueIn(value: OtlpAttribute["value"]): unknown {
  return value["intValue"] === undefined ? Object.values(value)[0] : Number(value["intValue"]);
}
