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
  OTEL_SERVICE_NAME: SETTINGS.tracesService,
  OTEL_RESOURCE_ATTRIBUTES: SETTINGS.tracesAttributes,
};

const SAMPLER = "OTEL_TRACES_SAMPLER";
const ARGUMENT = "OTEL_TRACES_SAMPLER_ARG";

interface Sampler {
  /** Null: what the argument says, and without it all requests. */
  readonly share: string | null;
  /** Whether a caller that keeps a trace decides for its requests, and the sampler only for the others. */
  readonly isParentBased: boolean;
}

/** The samplers of OpenTelemetry's specification, but for those of Jaeger and X-Ray. */
const SAMPLERS: ReadonlyMap<string, Sampler> = new Map([
  ["always_on", { share: "1", isParentBased: false }],
  ["always_off", { share: "0", isParentBased: false }],
  ["traceidratio", { share: null, isParentBased: false }],
  ["parentbased_always_on", { share: "1", isParentBased: true }],
  ["parentbased_always_off", { share: "0", isParentBased: true }],
  ["parentbased_traceidratio", { share: null, isParentBased: true }],
]);

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
  /** False if the value is not understood. A value that is not needed is not read. */
  const take: Take = (setting, name, value) => {
    if (value === "" || hasOwn(setting)) return true;
    if (setting.read(value) === undefined) {
      warnings.push(`${name} is ignored: for ${setting.path} it must be ${setting.rule}`);
      return false;
    }
    names.set(setting.path, name);
    values.set(setting.path, value);
    return true;
  };
  for (const [name, setting] of Object.entries(SETTINGS_BY_NAME)) take(setting, name, environment[name] ?? "");
  // A share of Sluice's own comes with Sluice's own rule for callers.
  if (!hasOwn(SETTINGS.tracesSample)) {
    const warning = takeSampler(environment[SAMPLER] ?? "", environment[ARGUMENT] ?? "", take);
    if (warning !== null) warnings.push(warning);
  }
  const weakest: Source = { kind: "environment", nameOf: (path) => names.get(path) ?? path, values };
  return { sources: [...sources, weakest], warnings };
}

type Take = (setting: Setting, name: string, value: string) => boolean;

/** Answers a warning, or null. */
function takeSampler(name: string, argument: string, take: Take): string | null {
  const sampler = SAMPLERS.get(name);
  if (sampler === undefined) {
    take(SETTINGS.tracesSample, ARGUMENT, argument);
    return name === "" ? null : `${SAMPLER} is ignored: it must be one of ${[...SAMPLERS.keys()].join(", ")}`;
  }
  const { share, isParentBased } = sampler;
  take(SETTINGS.tracesIgnoreParent, SAMPLER, String(!isParentBased));
  if (share !== null) take(SETTINGS.tracesSample, SAMPLER, share);
  // An argument that is not understood is none, by the specification.
  else if (argument === "" || !take(SETTINGS.tracesSample, ARGUMENT, argument))
    take(SETTINGS.tracesSample, SAMPLER, "1");
  return null;
}
