/** The tracer that a configuration asks for. */
import { randomUUID } from "node:crypto";
import manifest from "../../package.json" with { type: "json" };
import type { Log } from "../log/log.ts";
import { SYSTEM } from "../system/system.ts";
import { SpanExporter } from "./span-exporter.ts";
import { Tracer } from "./tracer.ts";

export interface TraceSettings {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the requests whose callers keep no trace, or of all, from 0 to 1. */
  readonly ratio: number;
  /** Whether the ratio is of all requests: a caller that keeps a trace does not decide. */
  readonly ignoresParent: boolean;
  readonly service: string;
  /** Further ones of the resource. */
  readonly attributes: Readonly<Record<string, string>>;
}

export function openTracer(
  { endpoint, headers, ratio, ignoresParent, service, attributes }: TraceSettings,
  region: string,
  log: Log,
  onDropped: (count: number) => void,
): Tracer {
  const { name, version } = manifest;
  const resource = {
    "service.version": version,
    "service.instance.id": randomUUID(),
    "sluice.region": region,
    ...attributes,
    "service.name": service,
  };
  const { timers, clock } = SYSTEM;
  const exporter = new SpanExporter({
    endpoint,
    headers,
    resource,
    scope: { name, version },
    log,
    timers,
    monoMs: clock.monoMs,
    onDropped,
  });
  return new Tracer(exporter, { ratio, ignoresParent }, clock.wallMs);
}
