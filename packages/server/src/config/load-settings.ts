/** The settings of a server, from everywhere they may come from, checked one by one and together. */
import { randomBytes } from "node:crypto";
import { createSecureContext } from "node:tls";
import { checkPreset } from "../admin/bootstrap.ts";
import { isLoopback, usualNames } from "../http/pipeline/host-check.ts";
import { InputError } from "../input/input-error.ts";
import { readTextFile } from "../input/text-file.ts";
import { closeTimeoutOf, convergenceOf, unusedSettings } from "./convergence.ts";
import { givenEnvironment, givenFile, givenFlags } from "./given.ts";
import { withOpenTelemetry } from "./open-telemetry-variables.ts";
import { type Effective, type Read, readValues } from "./read-settings.ts";
import type { ServerSettings } from "./settings.ts";
import { SETTINGS } from "./settings-table.ts";

export interface Loaded {
  readonly settings: ServerSettings;
  readonly effective: readonly Effective[];
  /** What is allowed and may not be meant. */
  readonly warnings: readonly string[];
}

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** @param options the flags of a command, as commander gives them; `file` names a configuration file. */
export function loadSettings(options: Readonly<Record<string, unknown>>, environment: EnvironmentVariables): Loaded {
  const flags = givenFlags(options);
  const variables = givenEnvironment(environment);
  const [path, called] =
    options["file"] === undefined ? [environment["SLUICE_FILE"], "SLUICE_FILE"] : [options["file"], "--file"];
  const file = typeof path === "string" && path !== "" ? [givenFile(path, called)] : [];
  const { sources, warnings } = withOpenTelemetry([flags, variables, ...file], environment);
  const read = readValues(sources);
  return { settings: settingsOf(read), effective: read.effective, warnings: [...warnings, ...warningsOf(read)] };
}

function settingsOf(read: Read): ServerSettings {
  const { values } = read;
  const tls = tlsOf(read);
  checkListener(read, tls !== null);
  if (values.rootKey !== null) checkPreset(values.rootKey);
  const { quotaLimit, quotaDuration } = values;
  return {
    host: values.host,
    port: values.port,
    dataDir: values.data,
    workers: values.workers,
    region: values.region,
    redisUrl: values.redisUrl,
    redisTls: redisTlsOf(read),
    redisProxy: values.redisProxy,
    sqlUrl: values.sqlUrl,
    sqlTls: sqlTlsOf(read),
    rootKey: values.rootKey,
    opsHost: values.opsHost,
    opsPort: values.opsPort,
    api: {
      hosts: values.hosts ?? usualNames(values.host),
      hasUi: values.uiEnabled ?? isLoopback(values.host),
      bodyMaxBytes: values.bodyMax,
      connectionsMax: values.connectionsMax,
      requestTimeoutMs: values.requestTimeout,
      quota: quotaLimit === null ? null : { limit: quotaLimit, durationMs: quotaDuration },
      adminAgeMaxMs: values.adminAgeMax,
      overrideCaps: {
        namespace: { overrides: values.overridesMax, stars: values.overridesStarsMax },
        workspace: { overrides: values.overridesWorkspaceMax, stars: values.overridesWorkspaceStarsMax },
      },
      tls,
    },
    shutdownTimeoutMs: values.shutdownTimeout,
    closeTimeoutMs: closeTimeoutOf(read),
    logLevel: values.logLevel,
    requestLog: {
      requests: values.logRequests,
      identifiers: values.logIdentifiers,
      identifierKey: values.logIdentifierKey ?? randomBytes(IDENTIFIER_KEY_BYTES).toString("hex"),
    },
    traces: tracesOf(read),
    cellsMax: values.cells,
    convergence: convergenceOf(read),
    namespacesMax: values.namespacesMax,
    namespacesKeepMs: values.namespacesKeep,
    auditKeepMs: values.auditKeep,
    auditBytesMax: values.auditMax,
    usageKeepMs: values.usageEnabled
      ? { minute: values.usageMinutes, hour: values.usageHours, day: values.usageDays }
      : null,
    shown: read.effective,
    hittersNamespacesMax: values.hittersNamespaces,
  };
}

const IDENTIFIER_KEY_BYTES = 32;

function tracesOf(read: Read): ServerSettings["traces"] {
  const { tracesEndpoint, tracesHeaders, tracesSample, tracesIgnoreParent, tracesService, tracesAttributes } =
    read.values;
  if (tracesEndpoint === null) return null;
  // By OpenTelemetry the attribute names the service where nothing else does.
  const named = isDefault(read, SETTINGS.tracesService.path) ? tracesAttributes?.["service.name"] : undefined;
  return {
    endpoint: tracesEndpoint,
    headers: tracesHeaders ?? {},
    ratio: tracesSample,
    ignoresParent: tracesIgnoreParent,
    service: named ?? tracesService,
    attributes: tracesAttributes ?? {},
  };
}

function isDefault({ effective }: Read, path: string): boolean {
  return effective.some((setting) => setting.path === path && setting.source === "default");
}

function warningsOf(read: Read): readonly string[] {
  const { values } = read;
  const unused = unusedSettings(read);
  if (values.sqlUrl === null || !isDefault(read, SETTINGS.region.path)) return unused;
  return [
    ...unused,
    `sql.url is set, but region has its default value, ${values.region}: servers that do not share a Redis would count as one region ` +
      "and hide each other's counts; set a distinct name for each region (a region that already has counts can be renamed at any time: docs/operating.md)",
  ];
}

const PEM_BYTES_MAX = 1_048_576;

function tlsOf({ values, calledAs }: Read): ServerSettings["api"]["tls"] {
  const { tlsCertFile, tlsKeyFile } = values;
  if (tlsCertFile === null && tlsKeyFile === null) return null;
  if (tlsCertFile === null || tlsKeyFile === null) {
    const [given, missing] =
      tlsCertFile === null ? (["tlsKeyFile", "tlsCertFile"] as const) : (["tlsCertFile", "tlsKeyFile"] as const);
    throw new InputError(`${calledAs(given)} is set without ${SETTINGS[missing].path}`, "TLS needs both");
  }
  const tls = { cert: pemOf(tlsCertFile, calledAs("tlsCertFile")), key: pemOf(tlsKeyFile, calledAs("tlsKeyFile")) };
  try {
    createSecureContext(tls);
  } catch (error) {
    const message = `${calledAs("tlsCertFile")} and ${calledAs("tlsKeyFile")} do not match: ${(error as Error).message}`;
    throw new InputError(
      message,
      "both must be in PEM, the server's certificate first in its file, the key without a passphrase",
    );
  }
  return tls;
}

function pemOf(path: string, called: string): string {
  return readTextFile({ path, called, bytesMax: PEM_BYTES_MAX, hint: "use a PEM file that this user can read" });
}

function redisTlsOf({ values, calledAs }: Read): ServerSettings["redisTls"] {
  const { redisCaFile, redisUrl } = values;
  if (redisCaFile === null) return null;
  if (redisUrl?.startsWith("rediss:") !== true) {
    throw new InputError(`${calledAs("redisCaFile")} is set without a rediss:// URL`, "redis:// does not use TLS");
  }
  return { ca: pemOf(redisCaFile, calledAs("redisCaFile")) };
}

function sqlTlsOf({ values, calledAs }: Read): ServerSettings["sqlTls"] {
  const { sqlTls, sqlCaFile } = values;
  if (sqlCaFile === null) return sqlTls ? {} : null;
  if (!sqlTls) throw new InputError(`${calledAs("sqlCaFile")} is set without sql.tls`, "set sql.tls to true");
  return { ca: pemOf(sqlCaFile, calledAs("sqlCaFile")) };
}

/** Keys travel with every request: in the clear they must not leave the machine by mistake. */
function checkListener({ values, calledAs }: Read, hasTls: boolean): void {
  if (hasTls || values.allowPlainHttp || isLoopback(values.host)) return;
  throw new InputError(
    `${calledAs("host")} must be a loopback address unless TLS is set up; got ${JSON.stringify(values.host)}`,
    "set --tls-cert-file and --tls-key-file; or --allow-plain-http, if a proxy terminates TLS or the network is private",
  );
}
