/**
 * The variables that OpenTelemetry's own programs go by, for whoever has set them for all of a machine's services. Weaker than every
 * setting of Sluice's own, and without a word where nobody named a collector: they may be meant for others. So one that is not
 * understood stops nobody: it is left out, with a warning.
 */
import type { Source } from "./given.ts";
import { pathsOf, type Setting } from "./setting.ts";
import { SETTINGS } from "./settings-table.ts";

const SETTINGS_BY_NAME: Readonly<Record<string, Setting>> = {
  OTEL_EXPORTER_OTLP_ENDPOINT: SETTINGS.tracesEndpoint,
  OTEL_EXPORTER_OTLP_HEADERS: SETTINGS.tracesHeaders,
  OTEL_TRACES_SAMPLER_ARG: SETTINGS.tracesSample,
  OTEL_SERVICE_NAME: SETTINGS.tracesService,
  OTEL_RESOURCE_ATTRIBUTES: SETTINGS.tracesAttributes,
};

const SHARE = "OTEL_TRACES_SAMPLER_ARG";

/** Null: what OTEL_TRACES_SAMPLER_ARG says. A caller that keeps a trace decides for it in any case. */
const SHARES_BY_SAMPLER: Readonly<Record<string, string | null>> = {
  "": null,
  always_on: "1",
  always_off: "0",
  traceidratio: null,
  parentbased_always_on: "1",
  parentbased_always_off: "0",
  parentbased_traceidratio: null,
};
const SAMPLERS = Object.keys(SHARES_BY_SAMPLER).filter((name) => name !== "");

interface Joined {
  /** The strongest first. */
  readonly sources: readonly Source[];
  /** Which variables were left out, and why. Never what they hold: it may be a secret. */
  readonly warnings: readonly string[];
}

/** @param sources the strongest first. */
export function withOpenTelemetry(
  sources: readonly Source[],
  environment: Readonly<Record<string, string | undefined>>,
): Joined {
  const isOff = environment["OTEL_SDK_DISABLED"] === "true" || environment["OTEL_TRACES_EXPORTER"] === "none";
  if (isOff) return { sources, warnings: [] };
  const hasOwn = (setting: Setting) => pathsOf(setting).some((path) => sources.some(({ values }) => values.has(path)));
  const isNamed = hasOwn(SETTINGS.tracesEndpoint) || (environment["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "") !== "";
  if (!isNamed) return { sources, warnings: [] };
  const names = new Map<string, string>();
  const values = new Map<string, unknown>();
  const warnings: string[] = [];
  const sampler = environment["OTEL_TRACES_SAMPLER"] ?? "";
  const share = SHARES_BY_SAMPLER[sampler];
  if (share === undefined && !hasOwn(SETTINGS.tracesSample)) {
    warnings.push(`OTEL_TRACES_SAMPLER is ignored: it must be one of ${SAMPLERS.join(", ")}`);
  }
  for (const [name, setting] of Object.entries(SETTINGS_BY_NAME)) {
    const isShare = name === SHARE && typeof share === "string";
    const value = isShare ? share : (environment[name] ?? "");
    if (value === "" || hasOwn(setting)) continue;
    names.set(setting.path, isShare ? "OTEL_TRACES_SAMPLER" : name);
    if (setting.read(value) === undefined)
      warnings.push(`${name} is left out: for ${setting.path} it must be ${setting.rule}`);
    else values.set(setting.path, value);
  }
  const weakest: Source = { kind: "environment", nameOf: (path) => names.get(path) ?? path, values };
  return { sources: [...sources, weakest], warnings };
}
