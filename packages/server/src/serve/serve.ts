/** The life of a server: starts, greets, waits for the word to stop, stops, and says whether anything was lost. */

import { resolve } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { AdminSchemaError } from "../admin/admin-schema.ts";
import { KeyNotRoot, NameTaken } from "../admin/admin-store.ts";
import type { Loaded } from "../config/load-settings.ts";
import type { ServerSettings } from "../config/settings.ts";
import { Failure } from "../input/failure.ts";
import { createLog, type Log } from "../log/log.ts";
import { metricsText } from "../metrics/metrics.ts";
import { boundHeapGrowth } from "../system/heap-growth.ts";
import { dataPlace, prepareDataDir } from "./data-dir.ts";
import { claimFolder, type FolderClaim } from "./folder-claim.ts";
import { addressLine, type KeyPlace, keyLines } from "./greeting.ts";
import { urlOf } from "./listening.ts";
import { type OpsListener, startOps } from "./ops-listener.ts";
import { startParent } from "./parent.ts";
import { writeRootKey } from "./root-key-file.ts";
import { startServer } from "./server.ts";
import { isClean, type Service, type StopReport, sumOf } from "./service.ts";

export interface Outside {
  readonly out: (text: string) => void;
  /** Whether `out` is a terminal: a new root key is shown there, and written to a file otherwise. */
  readonly isOutTerminal: boolean;
  readonly onStop: (callback: () => void) => void;
}

/** 24 random letters and digits are beyond guessing, even for somebody who has the hash. */
const KEY_LENGTH_SAFE = 24;

const KNOWN: KeyPlace = { kind: "known" };

type Given = Pick<Loaded, "settings" | "warnings">;

/** Resolves with what the stop could not save; rejects with Failure if it cannot be of use. */
export async function serve({ settings, warnings }: Given, outside: Outside): Promise<StopReport> {
  const { out, onStop } = outside;
  boundHeapGrowth();
  let isTold = false;
  const stopSignal = new Promise<void>((resolve) =>
    onStop(() => {
      isTold = true;
      resolve();
    }),
  );
  const log = createLog(settings.logLevel);
  if (settings.rootKey !== null && settings.rootKey.length < KEY_LENGTH_SAFE) {
    log.warn("root-key.short", {
      length: settings.rootKey.length,
      advice: `use ${KEY_LENGTH_SAFE} random characters or more`,
    });
  }
  for (const advice of warnings) log.warn("settings.doubtful", { advice });
  for (const { text, advice } of prepareDataDir(settings)) log.warn("data.writable", { reason: text, advice });
  const claim = await claimOf(settings, log);
  let service: Service;
  try {
    service = settings.workers === 1 ? await startServer(settings, log) : await startParent(settings, log);
  } catch (error) {
    // Workers that were told to stop as well while they started.
    if (isTold) return sumOf([]);
    throw error;
  }
  const ops = await opsOf(settings, service);
  const isTls = settings.api.tls !== null;
  const url = urlOf({ host: settings.host, port: service.port }, isTls);
  out(addressLine(url));
  const { opsHost, region, workers } = settings;
  const opsUrl = urlOf({ host: opsHost, port: ops.port }, false);
  log.info("listening", {
    url,
    ops: opsUrl,
    region,
    workers,
    redis: settings.redisUrl !== null,
    sql: settings.sqlUrl !== null,
  });
  const failure = await Promise.race([stopSignal, greet(settings, service, outside, log)]);
  log.info("stopping");
  const report = await service.stop();
  ops.close();
  claim?.release();
  if (failure !== undefined) throw failure;
  log[isClean(report) ? "info" : "error"]("stopped", report);
  return report;
}

/** With one Redis, several servers on one folder count together. */
async function claimOf({ sqlUrl, dataDir, redisUrl }: ServerSettings, log: Log): Promise<FolderClaim | null> {
  if (sqlUrl !== null) return null;
  const claim = await claimFolder(dataDir);
  if (claim.isShared && redisUrl === null) {
    log.warn("data.shared", {
      reason: `another server uses ${resolve(dataDir)}, and there is no Redis: each counts alone, so every limit applies per server`,
      advice: "stop one of them, use separate data folders, or set the same Redis (redis.url) for both",
    });
  }
  return claim;
}

async function opsOf({ opsHost: host, opsPort, port, region }: ServerSettings, service: Service): Promise<OpsListener> {
  const metrics = async () => metricsText(await service.readings(), { version: manifest.version, region });
  try {
    return await startOps({
      host,
      port: opsPort ?? (port === 0 ? 0 : null),
      readiness: () => service.readiness(),
      metrics,
    });
  } catch (error) {
    await service.stop();
    throw error;
  }
}

/**
 * While the store is away, the key waits for it; requests are answered meanwhile. Resolves only if the store answers and waiting does
 * not help, with the reason.
 */
async function greet(
  settings: ServerSettings,
  service: Service,
  { out, isOutTerminal }: Outside,
  log: Log,
): Promise<Failure> {
  try {
    const token = await service.ensureRootKey();
    const key = token === null ? KNOWN : isOutTerminal ? ({ kind: "shown", token } as const) : kept(settings, token);
    if (key.kind === "unwritten") log.warn("root-key.unwritten", { reason: key.reason });
    const isTls = settings.api.tls !== null;
    const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[settings.host] ?? settings.host;
    out(keyLines({ url: urlOf({ host, port: service.port }, isTls), key, hasUi: settings.api.hasUi, isTls }));
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof AdminSchemaError) return new Failure(message, "docs/keys.md lists the required rights");
    if (error instanceof KeyNotRoot || error instanceof NameTaken) {
      return new Failure(`SLUICE_ROOT_KEY cannot be preset: ${message}`, "choose another: openssl rand -hex 24");
    }
    log.warn("root-key.unknown", { reason: message });
  }
  return new Promise(() => {});
}

/** A key that cannot be written is never shown instead: another one is made with a command. */
function kept(settings: ServerSettings, token: string): KeyPlace {
  const folder = dataPlace(settings)?.folder ?? settings.dataDir;
  try {
    return { kind: "written", path: writeRootKey(folder, token) };
  } catch (error) {
    return { kind: "unwritten", reason: (error as Error).message };
  }
}
