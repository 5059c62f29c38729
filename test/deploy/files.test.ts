/**
 * What is under `deploy/`, and the Dockerfile: as far as can be said where neither docker nor helm nor systemd run.
 *
 * Every file parses, every setting that one of them names is a setting of the server with a value that it takes, every value of
 * the chart is used and every one that is used is there, and the health check of the image is run against a server. That a
 * cluster takes what the chart renders is not shown here.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { validate } from "dockerfile-utils";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { EXIT } from "../../packages/server/src/cli/exit-codes.ts";
import { environmentNameOf, pathsOf } from "../../packages/server/src/config/setting.ts";
import { ALL_SETTINGS } from "../../packages/server/src/config/settings-table.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { DEBIAN, debianBinary } from "../rig/debian-binary.ts";
import { SluiceServer } from "../rig/sluice-server.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const CHART = join("deploy", "helm", "sluice");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const version = (JSON.parse(read("packages/server/package.json")) as { version: string }).version;

const dockerfile = read("Dockerfile");
const compose = parse(read("deploy/compose.yaml"), { merge: true }) as Compose;
const unit = read("deploy/systemd/sluice.service");
const templates = readdirSync(join(root, CHART, "templates")).map((name) => join(CHART, "templates", name));

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, object>>;
  readonly ports?: readonly string[];
  readonly read_only?: boolean;
  readonly build?: { readonly context: string };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: object;
}

/** The setting of that name in the environment; of a secret's file too. */
function settingOf(name: string) {
  return ALL_SETTINGS.find((setting) => pathsOf(setting).some((path) => environmentNameOf(path) === name));
}

/** A secret's file is read at the start; any other value must be one that the setting takes. */
function isTaken(name: string, value: string): boolean {
  const setting = settingOf(name);
  if (setting === undefined) return false;
  return environmentNameOf(setting.path) === name ? setting.read(value) !== undefined : value.startsWith("/");
}

/** Name and value of every setting that a text sets: `NAME=value`, `NAME: value`, or Kubernetes's two lines. */
function assignments(text: string): [string, string][] {
  const found = text.matchAll(/\b(SLUICE_[A-Z_]+)(?:=|: +|\n\s+value: )("?)([^\s"\\]+)\2/g);
  return [...found].map(([, name = "", , value = ""]) => [name, value]);
}

let folder = "";
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => removeFolder(folder));

describe("settings under deploy", () => {
  /** Of compose's own, not the server's. */
  const NOT_OURS = new Set(["SLUICE_SQL_PASSWORD"]);
  const places = ["Dockerfile", "deploy/compose.yaml", "deploy/systemd/sluice.service", `${CHART}/values.yaml`];

  test.each([...places, ...templates])("%s names only settings that there are", (file) => {
    const names = [...read(file).matchAll(/\bSLUICE_[A-Z_]+/g)].map(([name]) => name);
    expect(names.filter((name) => !NOT_OURS.has(name) && settingOf(name) === undefined)).toEqual([]);
  });

  test.each([
    ["Dockerfile", 5],
    ["deploy/systemd/sluice.service", 2],
    [`${CHART}/templates/deployment.yaml`, 10],
  ] as const)("%s gives them values that they take", (file, least) => {
    const set = assignments(read(file).replaceAll(/^\s*#.*$/gm, "")).filter(([, value]) => !value.includes("{{"));
    expect(set.filter(([name, value]) => !isTaken(name, value))).toEqual([]);
    expect(set.length).toBeGreaterThanOrEqual(least);
  });
});

describe("Dockerfile", () => {
  test("has nothing that its linter minds", () => {
    expect(validate(dockerfile).map(({ message, range }) => `${range.start.line + 1}: ${message}`)).toEqual([]);
  });

  test("copies what is in the tree, and what .dockerignore lets through", () => {
    const open = read(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words = ""]) =>
      words.split(" ").slice(0, -1),
    );
    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(copied.filter((path) => !open.some((entry) => path === entry || path.startsWith(`${entry}/`)))).toEqual([]);
  });

  test("ends as a user that is not root, with a volume, in exec form", () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
    expect(last).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(last).toMatch(/^VOLUME \["\/var\/lib\/sluice"\]$/m);
    expect(last).toMatch(/^ENTRYPOINT \[/m);
    expect(last).not.toMatch(/^RUN /m);
  });

  test("its health check answers for a server that lives, and not for one that is gone", async () => {
    const words = JSON.parse(/^\s+CMD (\[.*\])$/m.exec(dockerfile)![1]!) as string[];
    const server = await SluiceServer.start(folder);
    const env = { ...process.env, SLUICE_OPS_PORT: new URL(server.opsUrl).port };
    const check = () => spawnSync(process.execPath, words.slice(1), { env }).status;
    expect(check()).toBe(0);
    await server.stop();
    expect(check()).toBe(1);
  });
});

describe("deploy/compose.yaml", () => {
  const servers = Object.entries(compose.services).filter(([, { build }]) => build !== undefined);

  test("has two servers in each of two regions, each region with a Redis, one SQL for all", () => {
    const regions = new Map<string, Set<string>>();
    for (const [, { environment }] of servers) {
      const { SLUICE_REGION: region = "", SLUICE_REDIS_URL: redis = "" } = environment ?? {};
      regions.set(region, new Set([...(regions.get(region) ?? []), redis]));
      expect(Object.keys(compose.services)).toContain(new URL(redis).hostname);
    }
    expect(servers).toHaveLength(4);
    expect([...regions.values()].map(({ size }) => size)).toEqual([1, 1]);
    expect(new Set([...regions.values()].flatMap((urls) => [...urls])).size).toBe(2);
    expect(new Set(servers.map(([, { environment }]) => environment?.["SLUICE_SQL_URL"])).size).toBe(1);
  });

  test("every server takes its settings, writes nothing, and is seen on loopback alone, at a port of its own", () => {
    for (const [, { environment = {}, read_only, ports, build }] of servers) {
      const values = Object.entries(environment).map(([name, value]) => [name, filled(value)] as const);
      expect(values.filter(([name, value]) => !isTaken(name, value))).toEqual([]);
      expect(read_only).toBe(true);
      expect(ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+:8080$/)]);
      expect(existsSync(join(root, "deploy", build!.context, "Dockerfile"))).toBe(true);
    }
    expect(new Set(servers.map(([, { ports }]) => ports?.[0])).size).toBe(servers.length);
  });

  test("waits only for services that there are", () => {
    const named = Object.values(compose.services).flatMap(({ depends_on = {} }) => Object.keys(depends_on));
    expect(named.filter((name) => !Object.hasOwn(compose.services, name))).toEqual([]);
  });

  /** `${NAME:?message}` as a user would fill it. */
  function filled(value: string): string {
    return value.replaceAll(/\$\{[^}]+\}/g, "0123456789abcdef0123456789abcdef");
  }
});

describe("deploy/systemd", () => {
  test("systemd finds nothing wrong with the unit, and little exposed", () => {
    const analyze = debianBinary(DEBIAN.systemdAnalyze);
    expect(unit).toMatch(/^ExecStart=\/\S+ \S+ serve$/m);
    const file = join(folder, "sluice.service");
    writeFileSync(file, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
    const verified = spawnSync(analyze, ["verify", file], { encoding: "utf8" });
    expect([verified.status, verified.stderr.trim()]).toEqual([0, ""]);
    const report = execFileSync(analyze, ["security", "--offline=true", file], { encoding: "utf8" });
    expect(Number(/exposure level for sluice\.service: ([\d.]+)/.exec(report)?.[1])).toBeLessThan(2);
  });

  test("restarts a server that ends, but not one whose settings are invalid", () => {
    expect(unit).toMatch(/^Restart=always$/m);
    expect(unit).toMatch(new RegExp(`^RestartPreventExitStatus=${EXIT.input}$`, "m"));
  });

  test("stops later than the server gives up by itself", () => {
    const seconds = (name: string) => Number(new RegExp(`${name}=(\\d+)s`).exec(unit)?.[1]);
    expect(seconds("TimeoutStopSec")).toBeGreaterThan(seconds("SLUICE_SHUTDOWN_TIMEOUT"));
  });
});

describe("deploy/helm", () => {
  const values = parse(read(`${CHART}/values.yaml`)) as Record<string, unknown>;
  const all = templates.map(read).join("\n");
  const used = new Set([...all.matchAll(/\.Values\.([\w.]+)/g)].map(([, path = ""]) => path));

  function valueAt(path: string): unknown {
    return path.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], values);
  }

  /** Every path that ends in something that is not a map, or in an empty one. */
  function leaves(at: unknown, path: readonly string[] = []): string[] {
    const isMap = typeof at === "object" && at !== null && !Array.isArray(at) && Object.keys(at).length > 0;
    return isMap ? Object.entries(at).flatMap(([key, below]) => leaves(below, [...path, key])) : [path.join(".")];
  }

  test("has the version of the packages", () => {
    const chart = parse(read(`${CHART}/Chart.yaml`)) as Record<string, string>;
    expect([chart["name"], chart["version"], chart["appVersion"]]).toEqual(["sluice", version, version]);
  });

  test("every value that a template uses is in values.yaml, and every one there is used", () => {
    expect([...used].filter((path) => valueAt(path) === undefined)).toEqual([]);
    const isUsed = (leaf: string) => [...used].some((path) => leaf === path || leaf.startsWith(`${path}.`));
    expect(leaves(values).filter((leaf) => !isUsed(leaf))).toEqual([]);
  });

  test("every template that is included is defined, and every one that is defined is included", () => {
    const names = (word: string) =>
      new Set([...all.matchAll(new RegExp(`${word} "([\\w.]+)"`, "g"))].map(([, n]) => n));
    expect(names("include")).toEqual(names("define"));
  });

  test.each(templates)("%s closes what it opens, and is YAML around its actions", (file) => {
    const text = read(file);
    const actions = [...text.matchAll(/\{\{-?\s*(\w+)/g)].map(([, word = ""]) => word);
    const opened = actions.filter((word) => ["if", "with", "range", "define"].includes(word)).length;
    expect(actions.filter((word) => word === "end")).toHaveLength(opened);
    expect(text.split("{{")).toHaveLength(text.split("}}").length);
    if (!file.endsWith(".yaml")) return;
    // Whole lines of actions go, an action inside a line becomes a word: what is left is every branch at once.
    const literal = text.replaceAll(/^\s*\{\{.*\}\}\s*$/gm, "").replaceAll(/\{\{.*?\}\}/g, "word");
    const documents = parseAllDocuments(literal, { uniqueKeys: true });
    expect([...documents].flatMap(({ errors }) => errors.map(String))).toEqual([]);
    for (const document of documents) {
      expect(document.toJS()).toMatchObject({ apiVersion: expect.any(String), kind: expect.any(String) });
    }
  });

  test("gives a pod longer to stop than its server takes", () => {
    const shutdownS = ALL_SETTINGS.find(({ path }) => path === "shutdownTimeout")!.initial as number;
    const { terminationGracePeriodSeconds, preStopSeconds } = values as Record<string, number>;
    expect(terminationGracePeriodSeconds).toBeGreaterThan(shutdownS / 1000 + preStopSeconds!);
  });

  test("lets only chosen pods read metrics by default, and limits the data folder", () => {
    const { observers } = values["networkPolicy"] as { observers: object[] };
    expect(observers).toEqual([
      { podSelector: {} },
      { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } },
    ]);
    expect(values["dataSizeLimit"]).toMatch(/^\d+[MG]i$/);
  });

  // Go is large to install and slow to compile with: where there is time.
  if (process.env["CI"] === "true") {
    interface Rendered {
      readonly kind: string;
      // biome-ignore lint/suspicious/noExplicitAny: whatever the chart renders; the assertions say what it should be.
      readonly spec: any;
    }

    /** By Go's own templates. The notes are no YAML. */
    function rendered(changes: object): Rendered[] {
      const go = debianBinary(DEBIAN.go);
      const Chart = { Name: "sluice", Version: version, AppVersion: version };
      const Release = { Name: "eu", Namespace: "limits", Service: "Helm" };
      const input = JSON.stringify({ Values: { ...values, ...changes }, Chart, Release });
      const args = ["run", join(root, "test", "rig", "chart.go"), join(root, CHART, "templates")];
      const env = { PATH: process.env["PATH"], HOME: folder, GO111MODULE: "off" };
      const text = execFileSync(go, args, { input, env, encoding: "utf8" });
      const documents = text.split(/^---$/m).filter((part) => part.trim() !== "" && !part.includes("# NOTES.txt"));
      return documents.map((part) => parse(part) as Rendered | null).filter((one) => one !== null);
    }

    test("renders what its values say: by default, and with everything switched on", () => {
      const few = rendered({});
      expect(few.map(({ kind }) => kind).sort()).toEqual([
        "Deployment",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
        "Service",
      ]);
      const peer = [{ podSelector: {} }];
      const all = rendered({
        autoscaling: { ...(values["autoscaling"] as object), enabled: true },
        serviceMonitor: { enabled: true, interval: "30s", labels: { release: "prometheus" } },
        networkPolicy: { ...(values["networkPolicy"] as object), clients: peer, observers: peer, storePeers: peer },
        settings: { SLUICE_LOG_LEVEL: "warn", SLUICE_WORKERS: 2 },
        tlsSecretName: "sluice-tls",
        imagePullSecrets: [{ name: "pull" }],
        podLabels: { team: "edge" },
        podAnnotations: { note: "yes" },
        nodeSelector: { disk: "ssd" },
        tolerations: [{ key: "edge", operator: "Exists" }],
        affinity: { nodeAffinity: {} },
        extraVolumes: [{ name: "ca", configMap: { name: "redis-ca" } }],
        extraVolumeMounts: [{ name: "ca", mountPath: "/etc/ca", readOnly: true }],
      });
      expect(all.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(["HorizontalPodAutoscaler", "ServiceMonitor", ...few.map(({ kind }) => kind)]),
      );

      for (const [objects, isPlain] of [
        [few, true],
        [all, false],
      ] as const) {
        const { spec } = objects.find(({ kind }) => kind === "Deployment")!;
        const environment = spec.template.spec.containers[0].env as { name: string; value: string }[];
        expect(environment.filter(({ name, value }) => !isTaken(name, value))).toEqual([]);
        expect(environment.some(({ name }) => name === "SLUICE_ALLOW_PLAIN_HTTP")).toBe(isPlain);
        const labels = spec.template.metadata.labels;
        expect(labels).toMatchObject(spec.selector.matchLabels);
        for (const service of objects.filter(({ kind }) => kind === "Service")) {
          expect(labels).toMatchObject(service.spec.selector);
        }
        expect(Object.hasOwn(spec, "replicas")).toBe(isPlain);
        expect(spec.template.spec.volumes[0].emptyDir).toEqual({ sizeLimit: values["dataSizeLimit"] });
        expect(spec.template.spec.volumes.map(({ name }: { name: string }) => name).sort()).toEqual(
          spec.template.spec.containers[0].volumeMounts.map(({ name }: { name: string }) => name).sort(),
        );
      }
    }, 180_000);

    test("the network policy opens the ports of every database, or the one that is named, and ops only to observers", () => {
      const policy = values["networkPolicy"] as object;
      const portsOf = (rules: { ports: { port: number | string }[] }[]) =>
        rules.map(({ ports }) => ports.map(({ port }) => port));
      const policyOf = (changes: object) =>
        rendered({ networkPolicy: { ...policy, ...changes } }).find(({ kind }) => kind === "NetworkPolicy")!.spec;

      const byDefault = policyOf({});
      expect(portsOf(byDefault.egress)).toEqual([
        [53, 53],
        [6379, 3306, 5432],
      ]);
      expect(portsOf(byDefault.ingress)).toEqual([["http"], ["ops"]]);
      expect(byDefault.ingress[1].from).toHaveLength(2);

      const narrow = policyOf({ sqlPort: 5433, tracesPort: 4318, observers: [] });
      expect(portsOf(narrow.egress)).toEqual([[53, 53], [6379, 5433], [4318]]);
      expect(portsOf(narrow.ingress)).toEqual([["http"]]);
    }, 180_000);
  }
});
