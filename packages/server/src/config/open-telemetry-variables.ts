/**
 * The variables that OpenTelemetry's own programs go by, for whoever has set them for all of a machine's services. Weaker than every
 * setting of Sluice's own, and without a word where nobody named a collector: they may be meant for others.
 */
import type { Source } from "./given.ts";
import { SETTINGS } from "./settings-table.ts";

const NAMES = new Map([
  [SETTINGS.tracesEndpoint.path, "OTEL_EXPORTER_OTLP_ENDPOINT"],
  [SETTINGS.tracesHeaders.path, "OTEL_EXPORTER_OTLP_HEADERS"],
  [SETTINGS.tracesSample.path, "OTEL_TRACES_SAMPLER_ARG"],
  [SETTINGS.tracesService.path, "OTEL_SERVICE_NAME"],
  [SETTINGS.tracesAttributes.path, "OTEL_RESOURCE_ATTRIBUTES"],
]);

/** @param sources the strongest first. */
export function withOpenTelemetry(
  sources: readonly Source[],
  environment: Readonly<Record<string, string | undefined>>,
): readonly Source[] {
  const isOff = environment["OTEL_SDK_DISABLED"] === "true" || environment["OTEL_TRACES_EXPORTER"] === "none";
  if (isOff) return sources;
  const given = [...NAMES].flatMap(([path, name]) => {
    const value = environment[name];
    return value === undefined || value === "" ? [] : [[path, value] as const];
  });
  const weakest: Source = { kind: "environment", nameOf: (path) => NAMES.get(path) ?? path, values: new Map(given) };
  const all = [...sources, weakest];
  return all.some(({ values }) => values.has(SETTINGS.tracesEndpoint.path)) ? all : sources;
}
