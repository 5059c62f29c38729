import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InputError } from "../input/input-error.ts";
import { loadSettings } from "./load-settings.ts";

const SECRET = "hunter2-hunter2-hunter2";
const FILES = {
  "good.yaml":
    "port: 9000\nregion: eu-west\nredis:\n  url: redis://redis.internal\nhttp:\n  hosts: [a.example, b.example]\nlog:\n",
  "convergence.yaml": "flushMs: 20\nreadTimeoutMs: 100ms\npublishMs: 700\n",
  "misspelt.yaml": "prot: 9000\n",
  "deep.yaml": "redis:\n  ulr: redis://redis.internal\n",
  "flat.yaml": "redis: redis://redis.internal\n",
  "type.yaml": "port: [1]\n",
  "password.yaml": `sql:\n  url: mysql://user:${SECRET}@db.internal/sluice\n`,
  "key.yaml": `rootKey: ${SECRET}\n`,
  "proto.yaml": "__proto__:\n  port: 1\n",
  "fraction.yaml": "quota:\n  duration: 1000.5\n",
  "list.yaml": "- 1\n",
  "broken.yaml": "port: [\n",
  "sql-url": `postgres://user:${SECRET}@db.internal/sluice\n`,
  "no-url": `${SECRET}\n`,
  "no.pem": "no PEM\n",
};

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-settings-"));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Given {
  readonly options?: Record<string, unknown>;
  readonly environment?: Record<string, string>;
  /** In the folder. */
  readonly file?: string;
}

/** `{}` in a value is the folder. */
function load({ options = {}, environment = {}, file }: Given) {
  const placed = <T>(values: Record<string, T>) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        typeof value === "string" ? value.replace("{}", folder) : value,
      ]),
    );
  const flags = file === undefined ? options : { ...options, file: join(folder, file) };
  return loadSettings(placed(flags), placed(environment) as Record<string, string>);
}

function refusal(given: Given): InputError {
  try {
    load(given);
  } catch (error) {
    if (error instanceof InputError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("the variables of OpenTelemetry", () => {
  const otel = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
    OTEL_SERVICE_NAME: "limits",
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=x",
  };

  test("are taken where nothing else is said, and say so", () => {
    const { settings, effective } = load({ environment: { ...otel, SLUICE_TRACES_SERVICE: "mine" } });
    expect(settings.traces).toEqual({
      endpoint: "http://collector:4318",
      headers: { "api-key": "x" },
      ratio: 0.01,
      ignoresParent: false,
      service: "mine",
      attributes: {},
    });
    const sources = new Map(effective.map(({ path, source, shown }) => [path, `${source}: ${shown}`]));
    expect(sources.get("traces.endpoint")).toBe("OTEL_EXPORTER_OTLP_ENDPOINT: http://collector:4318/");
    expect(sources.get("traces.headers")).toBe("OTEL_EXPORTER_OTLP_HEADERS: (hidden)");
    expect(sources.get("traces.service")).toBe("SLUICE_TRACES_SERVICE: mine");
  });

  test("turn traces off, and are not looked at where nobody named a collector", () => {
    expect(load({ environment: { ...otel, OTEL_SDK_DISABLED: "true" } }).settings.traces).toBeNull();
    expect(load({ environment: { ...otel, OTEL_TRACES_EXPORTER: "none" } }).settings.traces).toBeNull();
    const { settings, warnings } = load({ environment: { OTEL_TRACES_SAMPLER_ARG: "not ours" } });
    expect(settings.traces).toBeNull();
    expect(warnings).toEqual([]);
  });

  test("are read as OpenTelemetry's programs write them", () => {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
      OTEL_EXPORTER_OTLP_HEADERS: "api-key=x,",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=,team=J%C3%BCrgen,service.name=from-attributes",
    };
    const { settings, warnings } = load({ environment });
    expect(settings.traces).toMatchObject({
      headers: { "api-key": "x" },
      attributes: { "deployment.environment": "", team: "Jürgen" },
      service: "from-attributes",
    });
    expect(load({ environment: { ...environment, ...otel } }).settings.traces).toMatchObject({ service: "limits" });
    expect(warnings).toEqual([]);
  });

  test.each([
    ["always_on", "0.5", 1, true],
    ["always_off", "0.5", 0, true],
    ["traceidratio", "0.5", 0.5, true],
    ["traceidratio", "", 1, true],
    ["parentbased_always_on", "", 1, false],
    ["parentbased_always_off", "", 0, false],
    ["parentbased_traceidratio", "0.25", 0.25, false],
    ["parentbased_traceidratio", "", 1, false],
    ["", "0.25", 0.25, false],
  ])(
    "the sampler %s with the argument %s samples a share of %d, and ignores callers: %s",
    (sampler, argument, ratio, ignoresParent) => {
      const environment = { ...otel, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
      const { settings, warnings } = load({ environment });
      expect(settings.traces).toMatchObject({ ratio, ignoresParent });
      expect(warnings).toEqual([]);
      const own = load({ environment, options: { tracesSample: "0.125" } }).settings.traces;
      expect(own).toMatchObject({ ratio: 0.125, ignoresParent: false });
      const ownRule = load({ environment, options: { tracesIgnoreParent: true } }).settings.traces;
      expect(ownRule).toMatchObject({ ratio, ignoresParent: true });
    },
  );

  test("an argument that is not a share is ignored with a warning: the sampler then takes all, as without one", () => {
    const environment = { ...otel, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "half" };
    const { settings, warnings } = load({ environment });
    expect(settings.traces).toMatchObject({ ratio: 1 });
    expect(warnings).toEqual(["OTEL_TRACES_SAMPLER_ARG is ignored: for traces.sample it must be a number from 0 to 1"]);
  });

  test("a sampler that Sluice does not have is ignored with a warning", () => {
    const { settings, warnings } = load({ environment: { ...otel, OTEL_TRACES_SAMPLER: "jaeger_remote" } });
    expect(settings.traces).not.toBeNull();
    expect(warnings).toEqual([expect.stringMatching(/^OTEL_TRACES_SAMPLER is ignored: it must be one of always_on, /)]);
  });

  test("are left out with a warning where they are not understood, and without a word where Sluice's own say otherwise", () => {
    const environment = {
      ...otel,
      OTEL_EXPORTER_OTLP_HEADERS: `no pair ${SECRET}`,
      OTEL_TRACES_SAMPLER_ARG: "endpoint=http://jaeger:14250,pollingIntervalMs=5000",
      OTEL_RESOURCE_ATTRIBUTES: "a=%zz",
    };
    const { settings, warnings } = load({ environment, options: { tracesAttributes: "a=1" } });
    expect(settings.traces).toMatchObject({ headers: {}, ratio: 0.01, service: "limits", attributes: { a: "1" } });
    expect(warnings).toEqual([
      expect.stringMatching(/^OTEL_EXPORTER_OTLP_HEADERS is ignored: for traces.headers it must be pairs/),
      "OTEL_TRACES_SAMPLER_ARG is ignored: for traces.sample it must be a number from 0 to 1",
    ]);
    expect(warnings.join()).not.toContain(SECRET);
    const grpc = load({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" } });
    expect(grpc.settings.traces).toBeNull();
    expect(grpc.warnings).toHaveLength(1);
  });
});

describe("the settings of convergence", () => {
  const sql = { SLUICE_SQL_URL: "mysql://db.internal/sluice", SLUICE_REGION: "eu" };

  test("come from a flag, a variable or a file, and reach the limiter's options", () => {
    const options = { globalMode: "both", floor: "0.05", whenFull: "deny" };
    const environment = {
      ...sql,
      SLUICE_PUBLISH_MS: "500",
      SLUICE_CLOSE_TIMEOUT_MS: "2s",
      SLUICE_GLOBAL_DURATION_MIN: "30s",
    };
    const { settings } = load({ options, environment, file: "convergence.yaml" });
    expect(settings.convergence).toEqual({
      whenFull: "deny",
      flushMs: 20,
      readTimeoutMs: 100,
      commandsPerSecond: 50_000,
      globalMode: "both",
      globalDurationMinMs: 30_000,
      publishMs: 500,
      importMs: 1_000,
      floor: 0.05,
      errorBudget: 0.02,
      namespaceRowsMax: 100_000,
      workspaceRowsMax: 200_000,
    });
    expect([settings.closeTimeoutMs, settings.shutdownTimeoutMs]).toEqual([2_000, 8_000]);
  });

  test.each<[string, Given, string]>([
    [
      "a round longer than the window",
      { options: { publishMs: "2m" } },
      "--publish-ms must be at most globalDurationMin, 60000 ms; got 120000 ms",
    ],
    [
      "an import longer than the window",
      { environment: { ...sql, SLUICE_IMPORT_MS: "6s" }, options: { globalDurationMin: "5s" } },
      "SLUICE_IMPORT_MS must be at most globalDurationMin, 5000 ms; got 6000 ms",
    ],
    [
      "a mode without a database",
      { options: { globalMode: "denials" } },
      "--global-mode is denials, but sql.url is not set",
    ],
    [
      "a close as long as the stop",
      { options: { closeTimeoutMs: "8s" } },
      "--close-timeout-ms must be less than shutdownTimeout, 8000 ms; got 8000 ms",
    ],
    [
      "a mode that there is not",
      { options: { globalMode: "counter" } },
      '--global-mode must be one of counters, denials, both; got "counter"',
    ],
    [
      "a budget of nothing",
      { options: { errorBudget: "0" } },
      '--error-budget must be a number above 0, up to 1; got "0"',
    ],
    [
      "a flush too rare",
      { environment: { SLUICE_FLUSH_MS: "1001" } },
      'SLUICE_FLUSH_MS must be whole milliseconds from 5ms to 1s; got "1001"',
    ],
  ])("%s is refused, with the name, the bound and the value", (_, given, message) => {
    expect(refusal(given).message).toContain(message);
  });

  test.each<[string, Given, readonly string[]]>([
    [
      "without stores",
      { options: { flushMs: "20", publishMs: "500" } },
      [
        "flushMs has no effect: there is neither redis.url nor a second worker",
        "publishMs has no effect: there is no sql.url",
      ],
    ],
    ["with workers, which share an origin", { options: { flushMs: "20", workers: "2" } }, []],
    [
      "in mode denials",
      { environment: sql, options: { globalMode: "denials", floor: "0", importMs: "2s" } },
      ["importMs, floor have no effect: in globalMode denials regions send no counts"],
    ],
    [
      "with a fixed floor",
      { environment: sql, options: { errorBudget: "0.1", floor: "0" } },
      ["errorBudget has no effect: floor is set"],
    ],
    ["where all are used", { environment: sql, options: { publishMs: "500" } }, []],
  ])("those that have no effect %s are a warning", (_, given, warnings) => {
    expect(load(given).warnings).toEqual(warnings);
  });
});

describe("settings", () => {
  test("a file is weaker than the environment, and that than flags; every value knows its source", () => {
    const given = {
      file: "good.yaml",
      environment: { SLUICE_PORT: "9001", SLUICE_REGION: "us-east", SLUICE_DATA: "" },
      options: { port: "9002" },
    };
    const { settings, effective } = load(given);
    expect(settings).toMatchObject({ port: 9002, region: "us-east", redisUrl: "redis://redis.internal" });
    expect(settings.api.hosts).toEqual(["a.example", "b.example"]);
    const sources = Object.fromEntries(effective.map(({ path, source }) => [path, source.replace(folder, "")]));
    expect(sources).toMatchObject({
      port: "--port",
      region: "SLUICE_REGION",
      "redis.url": "redis.url in /good.yaml",
      data: "default",
    });
  });

  test("without any, it is loopback, one process, no stores", () => {
    const { settings } = load({});
    expect(settings).toMatchObject({
      host: "127.0.0.1",
      port: 8080,
      workers: 1,
      redisUrl: null,
      sqlUrl: null,
      rootKey: null,
    });
  });

  test("a secret is read from the environment or a file of its own, and not shown", () => {
    const { settings, effective } = load({
      environment: {
        SLUICE_ROOT_KEY: SECRET,
        SLUICE_SQL_URL_FILE: "{}/sql-url",
        SLUICE_REDIS_URL: `redis://:${SECRET}@redis.internal`,
      },
    });
    expect(settings.rootKey).toBe(SECRET);
    expect(settings.sqlUrl).toBe(`postgres://user:${SECRET}@db.internal/sluice`);
    expect(JSON.stringify(effective)).not.toContain(SECRET);
    expect(effective.find(({ path }) => path === "sql.url")?.shown).toBe("postgres://user:hidden@db.internal/sluice");
  });

  test("a stronger source wins over the file of a weaker one", () => {
    const environment = { SLUICE_SQL_URL_FILE: "{}/sql-url" };
    const { settings } = load({ environment, options: { sqlUrl: "sqlite:./shared.db" } });
    expect(settings.sqlUrl).toBe("sqlite:./shared.db");
  });

  test("every loopback address may be listened on in the clear; beyond it, if that is said", () => {
    for (const host of ["127.0.0.1", "127.8.8.8", "::1", "localhost"]) load({ options: { host } });
    load({ options: { host: "0.0.0.0", allowPlainHttp: true } });
    load({ environment: { SLUICE_HOST: "0.0.0.0", SLUICE_ALLOW_PLAIN_HTTP: "true" } });
  });
});

describe("settings that may not be meant", () => {
  test("a database without the name of a region is warned of, and nothing else is", () => {
    const sqlUrl = "sqlite:./shared.db";
    expect(load({ options: { sqlUrl } }).warnings).toEqual([
      expect.stringMatching(/region has its default value, default/),
    ]);
    expect(load({ options: { sqlUrl, region: "default" } }).warnings).toEqual([]);
    expect(load({}).warnings).toEqual([]);
  });

  test("on loopback only the names of loopback are answered to, unless others are given; beyond it any", () => {
    const hosts = (options: Record<string, unknown>) => load({ options }).settings.api.hosts;
    expect(hosts({})).toEqual(expect.arrayContaining(["localhost", "127.0.0.1", "[::1]"]));
    expect(hosts({ host: "127.8.8.8" })).toContain("127.8.8.8");
    expect(hosts({ httpHosts: "a.example" })).toEqual(["a.example"]);
    expect(hosts({ host: "0.0.0.0", allowPlainHttp: true })).toBeNull();
  });
});

describe("bad settings", () => {
  test.each<Given & { says: string; hint?: string }>([
    { options: { port: "65536" }, says: '--port must be an integer from 0 to 65535; got "65536"' },
    { options: { port: "-1" }, says: '--port must be an integer from 0 to 65535; got "-1"' },
    { options: { port: "8080x" }, says: "--port must be" },
    { environment: { SLUICE_PORT: "http" }, says: 'SLUICE_PORT must be an integer from 0 to 65535; got "http"' },
    { environment: { SLUICE_PORT: "tcp://10.0.0.1:8080" }, says: "SLUICE_PORT", hint: "enableServiceLinks: false" },
    {
      environment: { SLUICE_SERVICE_HOST: "10.0.0.1" },
      says: "SLUICE_SERVICE_HOST",
      hint: "enableServiceLinks: false",
    },
    {
      environment: { SLUICE_REDIS_ULR: "x" },
      says: "unknown variable in the environment: SLUICE_REDIS_ULR",
      hint: "did you mean SLUICE_REDIS_URL?",
    },
    { file: "misspelt.yaml", says: 'misspelt.yaml has an unknown key: "prot"', hint: "did you mean port?" },
    { file: "deep.yaml", says: 'an unknown key: "redis.ulr"', hint: "did you mean redis.url?" },
    { file: "flat.yaml", says: "redis in {}/flat.yaml must be a map; got string", hint: "url, urlFile, caFile, proxy" },
    { file: "type.yaml", says: "port in {}/type.yaml must be an integer from 0 to 65535; got [1]" },
    { file: "proto.yaml", says: 'an unknown key: "__proto__"' },
    { file: "list.yaml", says: "must be a map of names to values" },
    { file: "broken.yaml", says: "broken.yaml is not YAML" },
    { file: "none.yaml", says: "--file must be a file that can be read", hint: "YAML" },
    { environment: { SLUICE_FILE: "{}/none.yaml" }, says: "SLUICE_FILE must be a file that can be read" },
    {
      file: "password.yaml",
      says: "sql.url in {}/password.yaml must not hold a password in a configuration file",
      hint: "SLUICE_SQL_URL",
    },
    {
      file: "key.yaml",
      says: "rootKey in {}/key.yaml must not be given by a configuration file",
      hint: "SLUICE_ROOT_KEY",
    },
    { options: { rootKey: SECRET }, says: "--root-key must not be given by a flag", hint: "--root-key-file" },
    { options: { redisUrl: `redis://:${SECRET}@h` }, says: "--redis-url must not hold a password in a flag" },
    { environment: { SLUICE_ROOT_KEY: "short" }, says: "SLUICE_ROOT_KEY must be 20 to 512 printable ASCII characters" },
    { environment: { SLUICE_ROOT_KEY: `${SECRET} x` }, says: "got a text of 25 characters, not shown here" },
    {
      environment: { SLUICE_ROOT_KEY: `sluice_${"a".repeat(38)}` },
      says: "SLUICE_ROOT_KEY has the form of a Sluice key, but its checksum is wrong",
    },
    { environment: { SLUICE_SQL_URL_FILE: "{}/no-url" }, says: "SLUICE_SQL_URL_FILE must be a mysql://" },
    { environment: { SLUICE_SQL_URL_FILE: "{}/none" }, says: "SLUICE_SQL_URL_FILE must be a file that can be read" },
    { environment: { SLUICE_SQL_URL: `http://${SECRET}` }, says: "SLUICE_SQL_URL must be a mysql://" },
    { environment: { SLUICE_SQL_URL: "mysql://db.internal" }, says: "with a host and a database" },
    { environment: { SLUICE_SQL_URL: "mysql://db.internal/x?ssl=1" }, says: "without parameters" },
    { environment: { SLUICE_SQL_URL: "sqlite:" }, says: "SLUICE_SQL_URL must be a mysql://" },
    {
      environment: { SLUICE_SQL_URL: "sqlite:a.db", SLUICE_SQL_URL_FILE: "{}/sql-url" },
      says: "SLUICE_SQL_URL and SLUICE_SQL_URL_FILE are both set",
    },
    {
      options: { host: "0.0.0.0" },
      says: '--host must be a loopback address unless TLS is set up; got "0.0.0.0"',
      hint: "--allow-plain-http",
    },
    { environment: { SLUICE_HOST: "::" }, says: "SLUICE_HOST must be a loopback address" },
    { options: { tlsCertFile: "{}/no.pem" }, says: "--tls-cert-file is set without tls.keyFile" },
    { options: { tlsCertFile: "{}/no.pem", tlsKeyFile: "{}/no.pem" }, says: "do not match" },
    {
      options: { tlsCertFile: "{}/none", tlsKeyFile: "{}/none" },
      says: "--tls-cert-file must be a file that can be read",
    },
    { options: { redisCaFile: "{}/no.pem" }, says: "--redis-ca-file is set without a rediss:// URL" },
    { options: { sqlCaFile: "{}/no.pem" }, says: "--sql-ca-file is set without sql.tls" },
    { options: { redisUrl: "redis://h/abc" }, says: "--redis-url must be a redis://" },
    { environment: { SLUICE_REDIS_URL: `redis://:%zz${SECRET}@h` }, says: "SLUICE_REDIS_URL must be", hint: "%25" },
    { options: { region: "\ud800" }, says: "--region must be 1 to 64 characters" },
    { options: { workers: "0" }, says: "--workers must be an integer from 1 to 256" },
    { options: { region: "x".repeat(65) }, says: "--region must be 1 to 64 characters" },
    { options: { shutdownTimeout: "1h" }, says: "--shutdown-timeout must be whole milliseconds from 1s to 2m" },
    {
      options: { quotaDuration: "1000.5" },
      says: '--quota-duration must be whole milliseconds from 1s to 30d; got "1000.5"',
    },
    { options: { httpRequestTimeout: "1.0005s" }, says: "--http-request-timeout must be whole milliseconds" },
    {
      file: "fraction.yaml",
      says: "duration in {}/fraction.yaml must be whole milliseconds from 1s to 30d; got 1000.5",
    },
    { environment: { SLUICE_SQL_URL: "sqlite::memory:" }, says: "SLUICE_SQL_URL must be a mysql://" },
    { options: { namespacesMax: "0" }, says: "--namespaces-max must be an integer from 1 to 1000000" },
    { options: { httpBodyMax: "1GB" }, says: "--http-body-max must be from 1KiB to 64MiB" },
    {
      environment: { SLUICE_TRACES_ENDPOINT: `https://:${SECRET}@h` },
      says: "SLUICE_TRACES_ENDPOINT must be an http://",
    },
    { options: { tracesEndpoint: "grpc://h:4317" }, says: "--traces-endpoint must be an http:// or https:// URL" },
    { options: { tracesSample: "1.5" }, says: "--traces-sample must be a number from 0 to 1" },
    { environment: { SLUICE_TRACES_HEADERS: `no pair ${SECRET}` }, says: "SLUICE_TRACES_HEADERS must be pairs" },
    { options: { tracesAttributes: "a=%zz" }, says: "--traces-attributes must be pairs" },
    { options: { tracesAttributes: "," }, says: "--traces-attributes must be pairs" },
    { options: { logRequests: "some" }, says: "--log-requests must be one of off, errors, all" },
    { options: { logIdentifiers: "md5" }, says: "--log-identifiers must be one of hashed, plain" },
    { options: { logLevel: "verbose" }, says: "--log-level must be one of debug, info, warn, error" },
    { environment: { SLUICE_ALLOW_PLAIN_HTTP: "yes" }, says: "SLUICE_ALLOW_PLAIN_HTTP must be true or false" },
  ])("$says", ({ says, hint = "", ...given }) => {
    const refused = refusal(given);
    expect(refused.message.replaceAll(folder, "{}")).toContain(says);
    expect(refused.hint).toContain(hint);
    expect(refused.hint).not.toBe("");
    expect(refused.message + refused.hint).not.toContain(SECRET);
  });
});
